import type { ConversationView } from "../../projections/conversation-view.ts";
import type { RecordedPolicy } from "../stack/chain-policy.ts";
import type { EngineOptions } from "../stack/engine.ts";
import { learnedCapabilities } from "./contexts.ts";

/** Why `auto` chose as it did, by name. */
type Choice = "endpoint-chains" | "endpoint-cannot-chain" | "required" | "layers-edit-every-step";

/**
 * The policy of a run that begins: where the caller left the mode to the engine, what it chooses, and why. It is recorded with
 * the run, so that nothing has to be chosen again when the run is taken up or replayed.
 */
export function chosenPolicy(engine: Pick<EngineOptions, "provider" | "chain" | "learned">, view: ConversationView) {
  const { provider, chain } = engine;
  if (chain.mode !== "auto") return chain;
  const choose = (mode: string, chosen: Choice): RecordedPolicy => ({ ...chain, mode, chosen });
  if (chain.require === true) return choose("chained", "required");
  const canChain = learnedCapabilities(provider, view, engine.learned).chain === true;
  if (!canChain) return choose("stateless", "endpoint-cannot-chain");
  return isEditedAlways(view, provider.scope)
    ? choose("stateless", "layers-edit-every-step")
    : choose("chained", "endpoint-chains");
}

/** Of so many responses that could have been continued from, and were asked for lately, not one continued from another. */
const maxFullInARow = 4;

/** What happened before so many responses says nothing of the layers of today. */
const maxLooked = 16;

function isEditedAlways({ server: { contexts } }: ConversationView, scope: string): boolean {
  const recent = contexts.after(Math.max(0, contexts.length - maxLooked)).filter((context) => context.scope === scope);
  const tried = recent.filter(({ unusable }) => unusable === null).slice(-maxFullInARow);
  return tried.length === maxFullInARow && tried.every(({ parent }) => parent === null);
}
