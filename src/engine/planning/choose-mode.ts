import type { ConversationView } from "../../projections/views/conversation-view.ts";
import type { RecordedPolicy } from "../options/chain-policy.ts";
import type { EngineOptions } from "../options/engine.ts";
import { learnedCapabilities } from "./contexts.ts";

/** The reason of `auto` for its choice, by name. */
type Choice = "endpoint-chains" | "endpoint-cannot-chain" | "required" | "layers-edit-every-step";

/**
 * The policy of a new run. If the caller left the mode to the engine, this chooses it. The choice and its reason are recorded with
 * the run, so that a resumed or replayed run does not choose again.
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

/** `auto` stops chaining after this many recent usable responses of which none continued from another. */
const maxFullInARow = 4;

/** Older responses than this many say nothing about the layers of today. */
const maxLooked = 16;

function isEditedAlways({ server: { contexts } }: ConversationView, scope: string): boolean {
  const recent = contexts.after(Math.max(0, contexts.length - maxLooked)).filter((context) => context.scope === scope);
  const tried = recent.filter(({ unusable }) => unusable === null).slice(-maxFullInARow);
  return tried.length === maxFullInARow && tried.every(({ parent }) => parent === null);
}
