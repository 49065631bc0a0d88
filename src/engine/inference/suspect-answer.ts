import type { InferenceRequestedData, ResponseReceivedData } from "../../domain/events/inference-events.ts";
import type { Turn } from "../../domain/turn.ts";
import { isSuspect } from "../../projections/server-contexts/exchange-context.ts";
import { heldBefore } from "../planning/build-request.ts";
import { anchorKind } from "../ports/anchor-kind.ts";
import { engineActor, type RunSession, record } from "../session/session.ts";
import { contextLookup } from "./step-request.ts";

/** An answer and its request. */
type Exchange = {
  readonly outgoing: Turn;
  readonly request: InferenceRequestedData;
  readonly data: ResponseReceivedData;
};

/** If a server answered without the context that it was to continue from, it is not chained again (rule: Coherence). */
export function checkContinued(session: RunSession, frame: string, exchange: Exchange): void {
  const { request, data } = exchange;
  if (isSuspect(request, data)) {
    distrust(session, { frame, request }, suspicion(data));
    return;
  }
  const reason = tooFewTokens(session, exchange);
  if (reason === null) return;
  const { scope } = session.engine.provider;
  if (data.anchor !== undefined) {
    const { unusable: _, ...anchor } = data.anchor;
    record(
      session.run,
      { type: "AnchorInvalidated", version: 1, data: { scope, anchor, reason: "suspect" } },
      engineActor,
      frame,
    );
  }
  distrust(session, { frame, request }, reason);
}

/** A server that never says what it continues from is acceptable, but its provider has to declare that. */
const suspicion = ({ echo = {} }: ResponseReceivedData): string =>
  Object.hasOwn(echo, "anchor")
    ? "it did not continue from what it was asked to continue from"
    : 'its answer does not say what it continued from; of a server whose answers never do, the provider says capabilities: { echo: "none" }';

function distrust(
  session: RunSession,
  { frame, request }: Pick<Exchange, "request"> & { readonly frame: string },
  reason: string,
): void {
  const { scope, codec } = session.engine.provider;
  const { anchor } = request.decision;
  const isInside = anchor !== null && anchorKind(codec, anchor)?.isObject === true;
  const capability = isInside ? "conversations" : "chain";
  session.engine.learned.set(capability, false);
  const data = { scope, capability, value: false, reason };
  record(session.run, { type: "CapabilityLearned", version: 1, data }, engineActor, frame);
}

/**
 * A server that counts the whole context, but counts less than half of what it counted before, left it out, whatever it echoes. Null if it
 * did not, or if that is unknown: a server may rightly leave out reasoning and items that only it understands, and other settings are
 * counted differently.
 */
function tooFewTokens(session: RunSession, { outgoing, request, data: { usage } }: Exchange): string | null {
  const { anchor, capabilities, changedSettings } = request.decision;
  if (anchor === null || usage === undefined || capabilities["counts"] !== "context") return null;
  if (changedSettings.length > 0 || usage.reasoningTokens > 0) return null;
  const held = heldBefore(contextLookup(session.run), anchor)?.tokens ?? 0;
  // Some servers count cached tokens separately from the input.
  const counted = usage.inputTokens + usage.cachedInputTokens;
  if (counted === 0 || counted * 2 >= held) return null;
  if (outgoing.blocks.some(({ kind }) => kind === "reasoning" || kind === "other")) return null;
  return `it counted ${counted} tokens, where what it was asked to continue from had ${held}`;
}
