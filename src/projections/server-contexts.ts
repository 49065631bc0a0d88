import type { JsonObject } from "../base/json.ts";
import { anchorName } from "../domain/anchor-name.ts";
import { extendContext } from "../domain/context.ts";
import {
  type InferenceRequestedData,
  learnedName,
  type ResponseReceivedData,
} from "../domain/events/inference-events.ts";
import type { RecordedEvent } from "../domain/events/recorded.ts";
import { entersTurn } from "./client-turn.ts";
import { byStream, type Projection } from "./projection.ts";

/** Why a response cannot be continued from; null when it can, as far as the log tells. */
export type Unusable = "incomplete" | "no-id" | "not-stored" | "suspect" | "masked" | null;

/** What a provider's server holds under one response id: its input followed by its output, as digests (MODEL 2). */
export type ServerContext = {
  readonly responseId: string;
  readonly inferenceId: string;
  /** Where its answer stands: of a fork, it may be in an ancestor's stream. */
  readonly stream: string;
  readonly revision: number;
  /** Its place among all that the lineage knows. */
  readonly index: number;
  readonly at: string;
  readonly scope: string;
  readonly model: string | null;
  readonly settingsDigest: string;
  /** The outgoing Turn, then the output: what anchors are looked up by. */
  readonly turn: string;
  /** The same as it was shaped for the request: what the server really holds. */
  readonly held: string;
  /** Blocks of the Turn before the output, and with it. */
  readonly inputLength: number;
  readonly length: number;
  /** The response it continued from. */
  readonly parent: string | null;
  readonly unusable: Unusable;
};

export type Invalidation = { readonly reason: string; readonly revision: number };

/** It speaks against the contexts that were known by then: so many. */
export type ScopeInvalidation = Invalidation & { readonly contexts: number };

export type ServerContextsView = {
  readonly byTurn: Map<string, ServerContext[]>;
  /** By `anchorName`. */
  readonly byResponse: Map<string, ServerContext>;
  /** In the order of the log. */
  readonly all: ServerContext[];
  readonly open: Map<string, { readonly request: InferenceRequestedData; readonly revision: number }>;
  readonly settings: Map<string, JsonObject>;
  /** By `anchorName`. */
  readonly invalidResponses: Map<string, Invalidation>;
  readonly invalidScopes: Map<string, ScopeInvalidation>;
  /** What each endpoint was seen to do, by scope. */
  readonly learned: Map<string, Map<string, boolean | string>>;
  /** Ids of reasoning blocks that are not sent again. */
  readonly quarantined: Set<string>;
};

/** Everything that was ever true at a server: one row a response. */
export const serverContexts: Projection<ServerContextsView> = {
  name: "server-contexts",
  version: 1,
  lineage: "inherit",
  key: byStream,
  initial: () => ({
    byTurn: new Map(),
    byResponse: new Map(),
    all: [],
    open: new Map(),
    settings: new Map(),
    invalidResponses: new Map(),
    invalidScopes: new Map(),
    learned: new Map(),
    quarantined: new Set(),
  }),
  apply(view, recorded) {
    applyEvent(view, recorded);
    return view;
  },
};

function applyEvent(view: ServerContextsView, { event, stream, revision, at, runId }: RecordedEvent): void {
  switch (event.type) {
    case "SettingsDeclared":
      view.settings.set(event.data.digest, event.data.settings);
      return;
    case "InferenceRequested":
      view.open.set(event.data.inferenceId, { request: event.data, revision });
      return;
    case "InferenceFailed":
      view.open.delete(event.data.inferenceId);
      return;
    case "ResponseReceived": {
      const request = view.open.get(event.data.inferenceId)?.request;
      view.open.delete(event.data.inferenceId);
      if (request === undefined) return;
      const settings = view.settings.get(request.settingsDigest) ?? {};
      const index = view.all.length;
      addContext(view, serverContextOf({ request, response: event.data, settings, stream, revision, index, at }));
      return;
    }
    case "EventSkipped":
      if (runId !== null) view.open.clear();
      return;
    case "ConversationStarted":
    case "RunCompleted":
    case "RunFailed":
    case "RunCancelled":
      // What is open when its run ends is never answered.
      view.open.clear();
      return;
    case "AnchorInvalidated": {
      const { responseId, scope, reason } = event.data;
      if (responseId === null) view.invalidScopes.set(scope, { reason, revision, contexts: view.all.length });
      else view.invalidResponses.set(anchorName(event.data), { reason, revision });
      return;
    }
    case "CapabilityLearned": {
      const { scope, value } = event.data;
      const learned = view.learned.get(scope) ?? new Map<string, boolean | string>();
      view.learned.set(scope, learned.set(learnedName(event.data), value));
      return;
    }
    case "ReasoningQuarantined":
      for (const id of event.data.blockIds) view.quarantined.add(id);
      return;
    default:
  }
}

/** Adds a row; one without a response id is kept for people, and never looked up. */
export function addContext(view: ServerContextsView, context: ServerContext): void {
  view.all.push(context);
  if (context.unusable === "no-id") return;
  view.byResponse.set(anchorName(context), context);
  const sharing = view.byTurn.get(context.turn);
  if (sharing === undefined) view.byTurn.set(context.turn, [context]);
  else sharing.push(context);
}

type Exchange = {
  readonly request: InferenceRequestedData;
  readonly response: ResponseReceivedData;
  readonly settings: JsonObject;
} & Pick<ServerContext, "stream" | "revision" | "index" | "at">;

/** What a server holds after an exchange, as request and response together tell. */
export function serverContextOf({ request, response, settings, ...place }: Exchange): ServerContext {
  const { output } = response;
  const entered = output.filter(entersTurn);
  const extend = (from: string, blocks: typeof output): string =>
    blocks.reduce((context, block) => extendContext(context, block.digest), from);
  const turn = extend(request.input.turn, entered);
  const isSentAsItIs = request.input.held === request.input.turn && entered.length === output.length;
  const model = echoOf(response, settings, "model");
  return {
    responseId: response.responseId ?? "",
    inferenceId: request.inferenceId,
    ...place,
    scope: request.scope,
    model: typeof model === "string" ? model : null,
    settingsDigest: request.settingsDigest,
    turn,
    held: isSentAsItIs ? turn : extend(request.input.held, output),
    inputLength: request.input.blocks,
    length: request.input.blocks + entered.length,
    parent: request.decision.anchor?.responseId ?? null,
    unusable: unusable(request, response, settings),
  };
}

function unusable(request: InferenceRequestedData, response: ResponseReceivedData, settings: JsonObject): Unusable {
  if (response.responseId === null) return "no-id";
  if (isSuspect(request, response)) return "suspect";
  if (!response.isComplete || response.status === null || (response.fields["error"] ?? null) !== null)
    return "incomplete";
  if (response.isMasked === true) return "masked";
  const store = echoOf(response, settings, "store") ?? settings["store"] ?? request.decision.capabilities.storeDefault;
  return store === true ? null : "not-stored";
}

/**
 * Whether the answer says that it continued from something else than what was asked: a server that ignores the id answers
 * without the context, and gives no error.
 */
export function isSuspect(request: InferenceRequestedData, response: ResponseReceivedData): boolean {
  const sent = request.decision.anchor?.responseId ?? null;
  const isEchoed = Object.hasOwn(response.fields, "previous_response_id");
  if (!isEchoed && request.decision.capabilities.echo === "none") return false;
  const echo = response.fields["previous_response_id"] ?? null;
  return echo !== sent;
}

/** A member of the response that echoes the request's; undefined when the response does not have it. */
function echoOf(response: ResponseReceivedData, settings: JsonObject, member: string): unknown {
  return response.echoed.includes(member) ? settings[member] : response.fields[member];
}
