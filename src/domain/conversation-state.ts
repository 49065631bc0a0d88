import type { JsonValue } from "../base/json.ts";
import { anchorName } from "./anchor.ts";
import type { ConversationOrigin } from "./events/conversation-events.ts";
import type { ConversationEvent } from "./events/event.ts";
import { learnedName } from "./events/server-events.ts";
import { type Labels, relabel } from "./labels.ts";

/** What `decide` asks for, and nothing else: what people look at are projections. */
export type ConversationState = {
  /** Null before the first event. */
  origin: ConversationOrigin | null;
  /** Ids of blocks appended from outside a run. */
  readonly blockIds: Ids;
  readonly settings: Ids;
  title: string | null;
  labels: Labels;
  /** Responses, by scope and id, and scopes (with the id null) that are not continued from. */
  readonly invalid: Names<boolean>;
  /** What endpoints were seen to do, by scope and capability. */
  readonly learned: Names<JsonValue>;
  readonly quarantined: Ids;
  /** Contexts that a server told of, by inference. */
  readonly imported: Ids;
  /** Responses that were deleted, by scope and id. */
  readonly deleted: Ids;
  /** Requests that ready a connection, by inference. */
  readonly warmUps: Names<"open" | "closed">;
  /** Calls whose tool came back too late. */
  readonly lateTools: Ids;
  /** Every run there ever was. */
  readonly runIds: Ids;
  run: RunState | null;
};

export type RunState = {
  readonly id: string;
  /** How often it was taken up: the last process to take it up owns it. */
  epoch: number;
  readonly inferences: Names<"open" | "closed">;
  /** Tool calls and effects of layers, by block id: each is decided by its own newest event. */
  readonly effects: Names<"started" | "parked" | "may-rerun" | "settled" | "finished">;
  /** Someone else wants it to end. */
  isCancelRequested: boolean;
};

type Ids = Pick<Set<string>, "has"> & { readonly add: (id: string) => unknown };
type Names<V> = Pick<Map<string, V>, "has" | "get"> & { readonly set: (name: string, value: V) => unknown };

export const initialState = (): ConversationState => ({
  origin: null,
  blockIds: new Set(),
  settings: new Set(),
  title: null,
  labels: {},
  invalid: new Map(),
  learned: new Map(),
  quarantined: new Set(),
  imported: new Set(),
  deleted: new Set(),
  warmUps: new Map(),
  lateTools: new Set(),
  runIds: new Set(),
  run: null,
});

/**
 * The state after an event. It never refuses: history has happened. The state given is used up: it belongs to the fold
 * that made it with `initialState`, so that a long history costs no copies.
 */
export function evolve(state: ConversationState, event: ConversationEvent, runId: string | null): ConversationState {
  switch (event.type) {
    case "ConversationStarted":
      state.origin = event.data.origin;
      // A fork goes on from its parent, but no run of the parent goes on in it.
      state.run = null;
      relabel(state, event);
      break;
    case "ConversationRelabelled":
      relabel(state, event);
      break;
    case "BlockAppended":
      state.blockIds.add(event.data.block.id);
      break;
    case "SettingsDeclared":
      // One that differs from what was skipped says nothing, and is declared again.
      if (event.data.base === undefined || state.settings.has(event.data.base)) state.settings.add(event.data.digest);
      break;
    case "RunStarted":
      state.run = {
        id: runId ?? "",
        epoch: event.data.epoch,
        inferences: new Map(),
        effects: new Map(),
        isCancelRequested: false,
      };
      state.runIds.add(state.run.id);
      break;
    case "InferenceRequested":
      // What the endpoint answers from now on can be lost again, and that would be news.
      state.invalid.set(anchorName({ scope: event.data.scope, anchor: null }), false);
      state.run?.inferences.set(event.data.inferenceId, "open");
      break;
    case "ResponseReceived":
    case "InferenceFailed":
      state.run?.inferences.set(event.data.inferenceId, "closed");
      break;
    case "WarmUpRequested":
      state.invalid.set(anchorName({ scope: event.data.scope, anchor: null }), false);
      state.warmUps.set(event.data.inferenceId, "open");
      break;
    case "WarmUpAnswered":
    case "WarmUpFailed":
      state.warmUps.set(event.data.inferenceId, "closed");
      break;
    case "RunResumed":
      if (state.run !== null) state.run.epoch = event.data.epoch;
      break;
    case "RunCancelRequested":
      if (state.run !== null) state.run.isCancelRequested = true;
      break;
    case "ToolStarted":
      state.run?.effects.set(event.data.blockId, "started");
      break;
    case "EffectStarted":
      state.run?.effects.set(event.data.effectId, "started");
      break;
    case "EffectFinished":
      state.run?.effects.set(event.data.effectId, "finished");
      break;
    case "ToolParked":
      state.run?.effects.set(event.data.blockId, "parked");
      break;
    case "ToolSettled":
      state.run?.effects.set(event.data.blockId, event.data.settlement.how === "rerun" ? "may-rerun" : "settled");
      break;
    case "ToolFinished":
      // A late result answers no call: what ends the run still does.
      if (event.data.late === true) state.lateTools.add(event.data.blockId);
      else state.run?.effects.set(event.data.blockId, "finished");
      break;
    case "AnchorInvalidated":
      state.invalid.set(anchorName(event.data), true);
      break;
    case "CapabilityLearned":
      state.learned.set(capabilityName(event.data), event.data.value);
      break;
    case "ReasoningQuarantined":
      for (const id of event.data.blockIds) state.quarantined.add(id);
      break;
    case "ContextImported":
      state.imported.add(event.data.inferenceId);
      break;
    case "ResponseDeleted":
      state.deleted.add(deletedName(event.data));
      break;
    case "ServerConversationDeleted":
      state.deleted.add(anchorName(event.data));
      break;
    case "EventSkipped":
      // The run that the event stood in is over.
      if (runId !== null && state.run?.id === runId) state.run = null;
      break;
    case "RunCompleted":
    case "RunFailed":
    case "RunCancelled":
      state.run = null;
      break;
    default:
  }
  return state;
}

/** What an endpoint was seen to do goes by its scope and the capability. */
export const capabilityName = ({
  scope,
  ...learned
}: { readonly scope: string } & Parameters<typeof learnedName>[0]): string =>
  JSON.stringify([scope, learnedName(learned)]);

/** A response goes by its scope and its id. */
export const deletedName = ({ scope, responseId }: { readonly scope: string; readonly responseId: string }): string =>
  JSON.stringify([scope, responseId]);

/** A state to try events on: what is evolved on it does not reach the one below. */
export function draftState(state: ConversationState): ConversationState {
  const { run } = state;
  return {
    origin: state.origin,
    blockIds: idsAbove(state.blockIds),
    settings: idsAbove(state.settings),
    title: state.title,
    labels: state.labels,
    invalid: namesAbove(state.invalid),
    learned: namesAbove(state.learned),
    quarantined: idsAbove(state.quarantined),
    imported: idsAbove(state.imported),
    deleted: idsAbove(state.deleted),
    warmUps: namesAbove(state.warmUps),
    lateTools: idsAbove(state.lateTools),
    runIds: idsAbove(state.runIds),
    run: run === null ? null : draftRun(run),
  };
}

const draftRun = (run: RunState): RunState => ({
  ...run,
  inferences: namesAbove(run.inferences),
  effects: namesAbove(run.effects),
});

function idsAbove(below: Ids): Ids {
  const own = new Set<string>();
  return { has: (id) => own.has(id) || below.has(id), add: (id) => own.add(id) };
}

function namesAbove<V>(below: Names<V>): Names<V> {
  const own = new Map<string, V>();
  return {
    has: (name) => own.has(name) || below.has(name),
    get: (name) => own.get(name) ?? below.get(name),
    set: (name, value) => own.set(name, value),
  };
}
