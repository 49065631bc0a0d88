import type { JsonObject, JsonValue } from "../../base/json.ts";
import { type Anchor, type AnchorId, anchorName } from "../../domain/anchor.ts";
import { isEndedBySkip } from "../../domain/decider/ended-by-skip.ts";
import { type SettingsBase, wholeSettings } from "../../domain/declared-settings.ts";
import type { ConversationEventOf } from "../../domain/events/event.ts";
import type { InferenceRequestedData } from "../../domain/events/inference-events.ts";
import type { RecordedEvent } from "../../domain/events/recorded.ts";
import { learnedName } from "../../domain/events/server-events.ts";
import { isAside } from "../../domain/frame.ts";
import { notRead } from "../../domain/not-read.ts";
import { byStream, type Projection } from "../projection.ts";
import { serverContextOf } from "./exchange-context.ts";
import { KnownContexts } from "./known-contexts.ts";

export type { ServerContext, Unusable } from "./known-contexts.ts";

export type Invalidation = { readonly reason: string; readonly revision: number };

/** It invalidates the first `contexts` contexts: those known at that time. */
export type ScopeInvalidation = Invalidation & { readonly contexts: number };

/** The place of an event. */
export type StreamRevision = { readonly stream: string; readonly revision: number };

/** A conversation object of an endpoint, and its content as far as the log knows it. */
export type ServerObject = {
  readonly anchor: Anchor;
  /** Whether it holds exactly its exchanges. False while a request is open or was cut off, or while items are being deleted. */
  isKnown: boolean;
  /** Whether an answer that was not received may still be added to it, because the server continues without a client. */
  isAwaited: boolean;
  /** Its content: the contexts, by index, of the exchanges that remain in it, in order. */
  readonly exchanges: number[];
};

export type ServerContextsView = {
  /** The conversation's own stream; a fork also reads others. */
  stream: string;
  readonly contexts: KnownContexts;
  /** Anchors, by `anchorName`, of requests without an answer, and the event that names each: a server may have continued from them. */
  readonly unanswered: Map<string, StreamRevision>;
  readonly open: Map<
    string,
    { readonly request: InferenceRequestedData; readonly revision: number; readonly runId: string | null }
  >;
  /** Where settings were declared, by digest. */
  readonly declared: Map<string, StreamRevision>;
  /** The settings that were read; after a snapshot, that need not be all. */
  readonly settings: Map<string, JsonObject>;
  /** Of these, the ones that an erasure has emptied, and those that were recorded as a difference from such. */
  readonly erasedSettings: Set<string>;
  /** The newest complete declaration that was read: the next one may record differences from it. */
  base: SettingsBase | null;
  /** By `anchorName`. */
  readonly invalidResponses: Map<string, Invalidation>;
  readonly invalidScopes: Map<string, ScopeInvalidation>;
  /** Lost scopes without a request since: another loss of everything would not be new. */
  readonly lostScopes: Set<string>;
  /** Observed capabilities of each endpoint, by scope. */
  readonly learned: Map<string, Map<string, JsonValue>>;
  /** By scope: the object that this conversation continues in. */
  readonly objects: Map<string, ServerObject>;
  /** Objects, by `anchorName`, with items deleted by this conversation, or perhaps by others: items of earlier responses may be gone. */
  readonly cutObjects: Set<string>;
  /** Ids of reasoning blocks that are not sent again. */
  readonly quarantined: Set<string>;
};

/** Everything that was ever true at a server: one row per response. */
export const serverContexts: Projection<ServerContextsView> = {
  name: "server-contexts",
  version: 1,
  lineage: "inherit",
  key: byStream,
  initial: (stream) => ({
    stream,
    contexts: new KnownContexts(),
    unanswered: new Map(),
    open: new Map(),
    declared: new Map(),
    settings: new Map(),
    erasedSettings: new Set(),
    base: null,
    invalidResponses: new Map(),
    invalidScopes: new Map(),
    lostScopes: new Set(),
    learned: new Map(),
    objects: new Map(),
    cutObjects: new Set(),
    quarantined: new Set(),
  }),
  apply(view, recorded) {
    applyEvent(view, recorded);
    return view;
  },
};

/** Ignores settings whose base is missing because its declaration was skipped. */
function noteSettings(
  view: ServerContextsView,
  data: ConversationEventOf<"SettingsDeclared">["data"],
  { stream, revision, hasErased }: Pick<RecordedEvent, "stream" | "revision" | "hasErased">,
): void {
  const { digest, base } = data;
  if (base !== undefined && !view.declared.has(base)) return;
  view.declared.set(digest, { stream, revision });
  readDeclaration(view, data, hasErased === true);
}

/** Adds the settings of a declaration to the view. Returns false if its base was not read. */
export function readDeclaration(
  view: Pick<ServerContextsView, "settings" | "erasedSettings"> & { base: SettingsBase | null },
  data: ConversationEventOf<"SettingsDeclared">["data"],
  hasErased: boolean,
): boolean {
  const { digest, base } = data;
  const settings = wholeSettings(data, (name) => view.settings.get(name));
  if (settings === undefined) return false;
  view.settings.set(digest, settings);
  if (hasErased || view.erasedSettings.has(base ?? "")) view.erasedSettings.add(digest);
  if (base === undefined) view.base = { digest, settings };
  return true;
}

function applyEvent(view: ServerContextsView, recorded: RecordedEvent): void {
  const { event, stream, revision, at, runId, frame } = recorded;
  const here = { stream, revision };
  switch (event.type) {
    case "SettingsDeclared":
      noteSettings(view, event.data, recorded);
      return;
    case "InferenceRequested":
    case "WarmUpRequested":
      view.lostScopes.delete(event.data.scope);
      // No request of the conversation continues from an aside.
      if (isAside(frame)) return;
      view.open.set(event.data.inferenceId, { request: event.data, revision, runId });
      noteObject(view, event.data, { isKnown: false, isAwaited: true });
      return;
    case "InferenceFailed":
    case "WarmUpFailed": {
      const request = view.open.get(event.data.inferenceId)?.request;
      view.open.delete(event.data.inferenceId);
      if (request === undefined) return;
      // A request that was rejected before the server acted changed nothing.
      if (event.data.outcome === "rejected") noteObject(view, request, { isKnown: true, isAwaited: false });
      else noteUnanswered(view, request, here);
      return;
    }
    case "ServerConversationChanged":
      changeObject(view, event.data);
      return;
    case "ResponseReceived":
    case "WarmUpAnswered": {
      const request = view.open.get(event.data.inferenceId)?.request;
      view.open.delete(event.data.inferenceId);
      if (request === undefined) return;
      const index = view.contexts.length;
      const context = serverContextOf({ request, response: event.data, stream, revision, index, at });
      view.contexts.add(context);
      const isKnown = context.unusable === null;
      const object = noteObject(view, request, { isKnown, isAwaited: false });
      if (isKnown) object?.exchanges.push(index);
      return;
    }
    case "ContextImported": {
      const { inferenceId, responseId, anchor, scope, settingsDigest, turn, inputLength, length, tokens } = event.data;
      const place = { stream, revision, index: view.contexts.length, at };
      const before = view.contexts.last;
      const parent = before === undefined ? null : { kind: anchor.kind, id: before.responseId };
      view.contexts.add({
        ...{ responseId, anchor, inferenceId, ...place, scope, settingsDigest },
        ...{ turn, held: turn, inputLength, length, parent, unusable: null, tokens: tokens ?? null },
      });
      return;
    }
    case "EventSkipped":
      giveUpOpen(view, here, (of) => isEndedBySkip(runId, of));
      // The skipped event may have said what the server added, so turnlog lists an object before it continues in it.
      for (const object of view.objects.values()) object.isKnown = false;
      return;
    case "ConversationStarted":
      view.stream = stream;
      giveUpOpen(view, here);
      // A fork never changes its parent's object, because the parent may continue with it.
      for (const [scope, { anchor }] of view.objects) view.cutObjects.add(anchorName({ scope, anchor }));
      view.objects.clear();
      return;
    case "RunCompleted":
    case "RunFailed":
    case "RunCancelled":
      giveUpOpen(view, here);
      return;
    case "AnchorInvalidated": {
      const { anchor, scope, reason } = event.data;
      if (anchor === null) {
        view.invalidScopes.set(scope, { reason, revision, contexts: view.contexts.length });
        view.lostScopes.add(scope);
      } else view.invalidResponses.set(anchorName(event.data), { reason, revision });
      const object = view.objects.get(scope);
      if (anchor === null || (object !== undefined && isSame(object.anchor, anchor))) view.objects.delete(scope);
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

/** Sets whether the content of the object that a request adds to is known; undefined if the request adds to no current object. */
function noteObject(
  { objects }: ServerContextsView,
  { scope, decision: { anchor } }: InferenceRequestedData,
  known: Pick<ServerObject, "isKnown" | "isAwaited">,
): ServerObject | undefined {
  const object = objects.get(scope);
  if (object === undefined || anchor === null || !isSame(object.anchor, anchor)) return undefined;
  Object.assign(object, known);
  return object;
}

/** Requests that are open when their run ends are never answered. */
function giveUpOpen(
  view: ServerContextsView,
  here: StreamRevision,
  isOver: (runId: string | null) => boolean = () => true,
): void {
  for (const [inferenceId, { request, runId }] of view.open) {
    if (!isOver(runId)) continue;
    noteUnanswered(view, request, here);
    view.open.delete(inferenceId);
  }
}

function noteUnanswered(
  { unanswered }: ServerContextsView,
  { scope, decision: { anchor } }: InferenceRequestedData,
  here: StreamRevision,
): void {
  if (anchor === null) return;
  const name = anchorName({ scope, anchor });
  if (!unanswered.has(name)) unanswered.set(name, here);
}

const isSame = (one: AnchorId, other: AnchorId): boolean => one.kind === other.kind && one.id === other.id;

function changeObject(
  { objects, cutObjects }: ServerContextsView,
  { scope, anchor, change, keeps = 0 }: ConversationEventOf<"ServerConversationChanged">["data"],
): void {
  if (change === "made") {
    objects.set(scope, { anchor, isKnown: true, isAwaited: false, exchanges: [] });
    return;
  }
  cutObjects.add(anchorName({ scope, anchor }));
  const object = objects.get(scope);
  if (object === undefined || !isSame(object.anchor, anchor)) return;
  Object.assign(object, { isKnown: false, isAwaited: false });
  object.exchanges.splice(keeps);
}

/**
 * The settings of a declaration; empty if there is none.
 *
 * @throws {TurnlogError} `content-not-read` if only the place of its event is known.
 */
export const declaredSettingsOf = ({ settings, declared }: ServerContextsView, digest: string): JsonObject =>
  settings.get(digest) ?? (declared.has(digest) ? notRead() : {});
