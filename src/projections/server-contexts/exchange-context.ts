import type { Anchor, AnchorId } from "../../domain/anchor.ts";
import { extendContext } from "../../domain/context.ts";
import type { InferenceRequestedData, ResponseReceivedData } from "../../domain/events/inference-events.ts";
import { entersTurn } from "../client-turn/apply-to-turns.ts";
import { totalTokens } from "../usage.ts";
import type { ServerContext, Unusable } from "./known-contexts.ts";

type Exchange = {
  readonly request: InferenceRequestedData;
  readonly response: ResponseReceivedData;
} & Pick<ServerContext, "stream" | "revision" | "index" | "at">;

/** The context that a server holds after an exchange, derived from request and response. */
export function serverContextOf({ request, response, ...place }: Exchange): ServerContext {
  const { output } = response;
  const entered = output.filter(entersTurn);
  const extend = (from: string, blocks: typeof output): string =>
    blocks.reduce((context, block) => extendContext(context, block.digest), from);
  const turn = extend(request.input.turn, entered);
  const isSentAsItIs = request.input.held === request.input.turn && entered.length === output.length;
  return {
    responseId: response.responseId ?? "",
    anchor: anchorOf(response),
    inferenceId: request.inferenceId,
    ...place,
    scope: request.scope,
    settingsDigest: request.settingsDigest,
    turn,
    held: isSentAsItIs ? turn : extend(request.input.held, output),
    inputLength: request.input.blocks,
    length: request.input.blocks + entered.length,
    parent: parentOf(request),
    unusable: unusable(request, response),
    tokens: response.usage === undefined ? null : totalTokens(response.usage),
    ...(request.input.bound === undefined ? {} : { bound: request.input.bound }),
  };
}

function parentOf({ decision: { anchor } }: InferenceRequestedData): AnchorId | null {
  if (anchor === null) return null;
  const { kind, id } = anchor;
  return { kind, id };
}

function anchorOf({ anchor }: ResponseReceivedData): Anchor | null {
  if (anchor === undefined) return null;
  const { unusable: _, ...named } = anchor;
  return named;
}

function unusable(request: InferenceRequestedData, response: ResponseReceivedData): Unusable {
  if (response.anchor === undefined) return "no-id";
  if (isSuspect(request, response)) return "suspect";
  if (!response.isComplete) return "incomplete";
  // The server got a prompt in the user's name that the Turn does not have.
  if (request.decision.repairs.some(({ rule }) => rule === "prompt")) return "prompted";
  return response.isMasked === true ? "masked" : (response.anchor.unusable ?? null);
}

/**
 * Whether the answer says that it continued from something other than what was asked: a server that ignores the id answers without the
 * context, and returns no error.
 */
export function isSuspect({ decision }: InferenceRequestedData, response: ResponseReceivedData): boolean {
  return isAnotherAnchor(askedAnchor(decision), response);
}

/** The id that a request was to continue from, and whether its endpoint is expected to report the one that it used. */
export type AskedAnchor = { readonly id: string | null; readonly hasEcho: boolean };

export const askedAnchor = ({ anchor, capabilities }: InferenceRequestedData["decision"]): AskedAnchor => ({
  id: anchor?.id ?? null,
  hasEcho: capabilities["echo"] !== "none",
});

export function isAnotherAnchor({ id, hasEcho }: AskedAnchor, { echo = {} }: ResponseReceivedData): boolean {
  if (!Object.hasOwn(echo, "anchor") && !hasEcho) return false;
  return (echo["anchor"] ?? null) !== id;
}
