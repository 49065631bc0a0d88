import type { JsonObject, JsonValue } from "../base/json.ts";
import { type Anchor, anchorName } from "../domain/anchor.ts";
import { notRead } from "../domain/block.ts";
import { extendContext } from "../domain/context.ts";
import {
  type InferenceRequestedData,
  learnedName,
  type ResponseReceivedData,
} from "../domain/events/inference-events.ts";
import type { RecordedEvent } from "../domain/events/recorded.ts";
import { isAside } from "../domain/frame.ts";
import { entersTurn } from "./client-turn.ts";
import { KnownContexts, type ServerContext, type Unusable } from "./known-contexts.ts";
import { byStream, type Projection } from "./projection.ts";
import { totalTokens } from "./usage.ts";

export type { ServerContext, Unusable } from "./known-contexts.ts";

export type Invalidation = { readonly reason: string; readonly revision: number };

/** It speaks against the contexts that were known by then: so many. */
export type ScopeInvalidation = Invalidation & { readonly contexts: number };

/** The event that declared settings. */
export type SettingsPlace = { readonly stream: string; readonly revision: number };

export type ServerContextsView = {
  readonly contexts: KnownContexts;
  readonly open: Map<string, { readonly request: InferenceRequestedData; readonly revision: number }>;
  /** Where settings were declared, by digest. */
  readonly declared: Map<string, SettingsPlace>;
  /** Those of them that were read, which of a fold that began with a snapshot need not be all. */
  readonly settings: Map<string, JsonObject>;
  /** By `anchorName`. */
  readonly invalidResponses: Map<string, Invalidation>;
  readonly invalidScopes: Map<string, ScopeInvalidation>;
  /** What each endpoint was seen to do, by scope. */
  readonly learned: Map<string, Map<string, JsonValue>>;
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
    contexts: new KnownContexts(),
    open: new Map(),
    declared: new Map(),
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

function applyEvent(view: ServerContextsView, { event, stream, revision, at, runId, frame }: RecordedEvent): void {
  switch (event.type) {
    case "SettingsDeclared":
      view.declared.set(event.data.digest, { stream, revision });
      view.settings.set(event.data.digest, event.data.settings);
      return;
    case "InferenceRequested":
      // What is asked beside the conversation is nothing that it goes on from.
      if (!isAside(frame)) view.open.set(event.data.inferenceId, { request: event.data, revision });
      return;
    case "InferenceFailed":
      view.open.delete(event.data.inferenceId);
      return;
    case "ResponseReceived": {
      const request = view.open.get(event.data.inferenceId)?.request;
      view.open.delete(event.data.inferenceId);
      if (request === undefined) return;
      const index = view.contexts.length;
      view.contexts.add(serverContextOf({ request, response: event.data, stream, revision, index, at }));
      return;
    }
    case "ContextImported": {
      const { inferenceId, responseId, anchor, scope, settingsDigest, turn, inputLength, length, tokens } = event.data;
      const place = { stream, revision, index: view.contexts.length, at };
      const parent = view.contexts.last?.responseId ?? null;
      view.contexts.add({
        ...{ responseId, anchor, inferenceId, ...place, scope, settingsDigest },
        ...{ turn, held: turn, inputLength, length, parent, unusable: null, tokens: tokens ?? null },
      });
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
      const { anchor, scope, reason } = event.data;
      if (anchor === null) view.invalidScopes.set(scope, { reason, revision, contexts: view.contexts.length });
      else view.invalidResponses.set(anchorName(event.data), { reason, revision });
      return;
    }
    case "CapabilityLearned": {
      const { scope, value } = event.data;
      const learned = view.learned.get(scope) ?? new Map<string, JsonValue>();
      view.learned.set(scope, learned.set(learnedName(event.data), value));
      return;
    }
    case "ReasoningQuarantined":
      for (const id of event.data.blockIds) view.quarantined.add(id);
      return;
    default:
  }
}

/**
 * Settings that were declared; empty where they were not.
 *
 * @throws {TurnlogError} `content-not-read` when they are known by the place of their event only.
 */
export const settingsOf = ({ settings, declared }: ServerContextsView, digest: string): JsonObject =>
  settings.get(digest) ?? (declared.has(digest) ? notRead() : {});

type Exchange = {
  readonly request: InferenceRequestedData;
  readonly response: ResponseReceivedData;
} & Pick<ServerContext, "stream" | "revision" | "index" | "at">;

/** What a server holds after an exchange, as request and response together tell. */
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
    parent: request.decision.anchor?.id ?? null,
    unusable: unusable(request, response),
    tokens: response.usage === undefined ? null : totalTokens(response.usage),
  };
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
  return response.isMasked === true ? "masked" : (response.anchor.unusable ?? null);
}

/**
 * Whether the answer says that it continued from something else than what was asked: a server that ignores the id answers
 * without the context, and gives no error.
 */
export function isSuspect({ decision }: InferenceRequestedData, { echo = {} }: ResponseReceivedData): boolean {
  if (!Object.hasOwn(echo, "anchor") && decision.capabilities["echo"] === "none") return false;
  return (echo["anchor"] ?? null) !== (decision.anchor?.id ?? null);
}
