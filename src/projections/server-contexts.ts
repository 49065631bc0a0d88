import type { JsonObject, JsonValue } from "../base/json.ts";
import { type Anchor, type AnchorId, anchorName } from "../domain/anchor.ts";
import { notRead } from "../domain/block.ts";
import { type SettingsBase, wholeSettings } from "../domain/declared-settings.ts";
import { isEndedBySkip } from "../domain/ended-by-skip.ts";
import type { ConversationEventOf } from "../domain/events/event.ts";
import type { InferenceRequestedData } from "../domain/events/inference-events.ts";
import type { RecordedEvent } from "../domain/events/recorded.ts";
import { learnedName } from "../domain/events/server-events.ts";
import { isAside } from "../domain/frame.ts";
import { serverContextOf } from "./exchange-context.ts";
import { KnownContexts } from "./known-contexts.ts";
import { byStream, type Projection } from "./projection.ts";

export type { ServerContext, Unusable } from "./known-contexts.ts";

export type Invalidation = { readonly reason: string; readonly revision: number };

/** It speaks against the contexts that were known by then: so many. */
export type ScopeInvalidation = Invalidation & { readonly contexts: number };

/** Where an event stands. */
export type EventPlace = { readonly stream: string; readonly revision: number };

/** A conversation object of an endpoint, as far as the log tells what it holds. */
export type ServerObject = {
  readonly anchor: Anchor;
  /** Whether it holds its exchanges and nothing else: not while one is under way, was cut off, or items are being deleted. */
  isKnown: boolean;
  /** Whether an answer that nobody has may still enter it: the server goes on without a listener. */
  isAwaited: boolean;
  /** What it holds: the contexts, by index, of the exchanges that stay in it, in order. */
  readonly exchanges: number[];
};

export type ServerContextsView = {
  /** The conversation's own stream, of all that a fork reads. */
  stream: string;
  readonly contexts: KnownContexts;
  /** Anchors, by `anchorName`, that a request named whose answer never came, and which event said so: a server may have gone on from them. */
  readonly unanswered: Map<string, EventPlace>;
  readonly open: Map<
    string,
    { readonly request: InferenceRequestedData; readonly revision: number; readonly runId: string | null }
  >;
  /** Where settings were declared, by digest. */
  readonly declared: Map<string, EventPlace>;
  /** Those of them that were read, which of a fold that began with a snapshot need not be all. */
  readonly settings: Map<string, JsonObject>;
  /** The newest declaration of all settings that was read: the next one may say what differs. */
  base: SettingsBase | null;
  /** By `anchorName`. */
  readonly invalidResponses: Map<string, Invalidation>;
  readonly invalidScopes: Map<string, ScopeInvalidation>;
  /** Those of them that were not asked since: losing all again would be no news. */
  readonly lostScopes: Set<string>;
  /** What each endpoint was seen to do, by scope. */
  readonly learned: Map<string, Map<string, JsonValue>>;
  /** By scope: the one object that this conversation goes on in. */
  readonly objects: Map<string, ServerObject>;
  /** Objects, by `anchorName`, whose items were deleted, or may be by somebody else: what responses left behind in them may be gone. */
  readonly cutObjects: Set<string>;
  /** Ids of reasoning blocks that are not sent again. */
  readonly quarantined: Set<string>;
};

/** Everything that was ever true at a server: one row a response. */
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

/** One that differs from a declaration that is not there any more, because it was skipped, says nothing. */
function noteSettings(
  view: ServerContextsView,
  data: ConversationEventOf<"SettingsDeclared">["data"],
  here: EventPlace,
): void {
  const { digest, base } = data;
  if (base !== undefined && !view.declared.has(base)) return;
  view.declared.set(digest, here);
  readDeclaration(view, data);
}

/** Has the view hold the settings of a declaration. False where those that it differs from were not read. */
export function readDeclaration(
  view: Pick<ServerContextsView, "settings"> & { base: SettingsBase | null },
  data: ConversationEventOf<"SettingsDeclared">["data"],
): boolean {
  const { digest, base } = data;
  const settings = wholeSettings(data, (name) => view.settings.get(name));
  if (settings === undefined) return false;
  view.settings.set(digest, settings);
  if (base === undefined) view.base = { digest, settings };
  return true;
}

function applyEvent(view: ServerContextsView, { event, stream, revision, at, runId, frame }: RecordedEvent): void {
  const here = { stream, revision };
  switch (event.type) {
    case "SettingsDeclared":
      noteSettings(view, event.data, here);
      return;
    case "InferenceRequested":
    case "WarmUpRequested":
      view.lostScopes.delete(event.data.scope);
      // What is asked beside the conversation is nothing that it goes on from.
      if (isAside(frame)) return;
      view.open.set(event.data.inferenceId, { request: event.data, revision, runId });
      noteObject(view, event.data, { isKnown: false, isAwaited: true });
      return;
    case "InferenceFailed":
    case "WarmUpFailed": {
      const request = view.open.get(event.data.inferenceId)?.request;
      view.open.delete(event.data.inferenceId);
      if (request === undefined) return;
      // What was refused before the server acted changed nothing.
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
      return;
    case "ConversationStarted":
      view.stream = stream;
      giveUpOpen(view, here);
      // A fork never touches an object of its parent's, who may go on with it.
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

/** The object that a request adds to, whose content is known or not from now on; undefined where it adds to none that is gone on with. */
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

/** What is open when its run ends is never answered. */
function giveUpOpen(
  view: ServerContextsView,
  here: EventPlace,
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
  here: EventPlace,
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
 * Settings that were declared; empty where they were not.
 *
 * @throws {TurnlogError} `content-not-read` when they are known by the place of their event only.
 */
export const settingsOf = ({ settings, declared }: ServerContextsView, digest: string): JsonObject =>
  settings.get(digest) ?? (declared.has(digest) ? notRead() : {});
