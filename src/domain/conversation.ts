import type { JsonObject } from "../base/json.ts";
import { err, ok, type Result, unreachable } from "../base/result.ts";
import type { ConversationEvent, ConversationEventOf } from "./events/event.ts";

type DataOf<T extends ConversationEvent["type"]> = ConversationEventOf<T>["data"];
type EndOfRun = ConversationEventOf<"RunCompleted" | "RunFailed" | "RunCancelled">;

/** What `decide` asks for, and nothing else: what people look at are projections. */
export type ConversationState = {
  isStarted: boolean;
  /** Ids of blocks appended from outside a run. */
  readonly blockIds: Ids;
  readonly settings: Ids;
  title: string | null;
  readonly labels: Names<string>;
  /** Responses, by scope and id, and scopes (with the id null) that are not continued from. */
  readonly invalid: Names<boolean>;
  /** What endpoints were seen to do, by scope and capability. */
  readonly learned: Names<boolean | string>;
  readonly quarantined: Ids;
  /** Calls whose tool came back too late. */
  readonly lateTools: Ids;
  /** Every run there ever was. */
  readonly runIds: Ids;
  run: RunState | null;
};

type RunState = {
  readonly id: string;
  readonly inferences: Names<"open" | "closed">;
  readonly tools: Names<"started" | "finished">;
};

type Ids = Pick<Set<string>, "has"> & { readonly add: (id: string) => unknown };
type Names<V> = Pick<Map<string, V>, "has" | "get"> & { readonly set: (name: string, value: V) => unknown };

export type Command =
  | { readonly type: "StartConversation"; readonly data: DataOf<"ConversationStarted"> }
  | { readonly type: "Relabel"; readonly data: DataOf<"ConversationRelabelled"> }
  | { readonly type: "AppendBlock"; readonly data: DataOf<"BlockAppended"> }
  | { readonly type: "DeclareSettings"; readonly data: { readonly digest: string; readonly settings: JsonObject } }
  | { readonly type: "StartRun"; readonly runId: string; readonly data: DataOf<"RunStarted"> }
  | { readonly type: "EditTurn"; readonly runId: string; readonly data: DataOf<"TurnEdited"> }
  | { readonly type: "RequestInference"; readonly runId: string; readonly data: DataOf<"InferenceRequested"> }
  | { readonly type: "ReceiveResponse"; readonly runId: string; readonly data: DataOf<"ResponseReceived"> }
  | { readonly type: "FailInference"; readonly runId: string; readonly data: DataOf<"InferenceFailed"> }
  | { readonly type: "InvalidateAnchor"; readonly data: DataOf<"AnchorInvalidated"> }
  | { readonly type: "LearnCapability"; readonly data: DataOf<"CapabilityLearned"> }
  | { readonly type: "QuarantineReasoning"; readonly data: DataOf<"ReasoningQuarantined"> }
  | { readonly type: "StartTool"; readonly runId: string; readonly data: DataOf<"ToolStarted"> }
  | { readonly type: "FinishTool"; readonly runId: string; readonly data: DataOf<"ToolFinished"> }
  /** A tool came back when its run waited for it no more: recorded, and changing no Turn. */
  | { readonly type: "FinishToolLate"; readonly data: DataOf<"ToolFinished"> }
  | { readonly type: "EndRun"; readonly runId: string; readonly event: EndOfRun };

/** Why a command is refused. */
export type Rejection =
  | { readonly code: "run-open"; readonly runId: string }
  | { readonly code: "run-repeated"; readonly runId: string }
  | { readonly code: "run-not-open"; readonly runId: string }
  | { readonly code: "inference-repeated"; readonly inferenceId: string }
  | { readonly code: "inference-not-open"; readonly inferenceId: string }
  | { readonly code: "tool-repeated"; readonly blockId: string };

export const initialState = (): ConversationState => ({
  isStarted: false,
  blockIds: new Set(),
  settings: new Set(),
  title: null,
  labels: new Map(),
  invalid: new Map(),
  learned: new Map(),
  quarantined: new Set(),
  lateTools: new Set(),
  runIds: new Set(),
  run: null,
});

/** A state to try events on: what is evolved on it does not reach the one below. */
export function draftState(state: ConversationState): ConversationState {
  const { run } = state;
  return {
    isStarted: state.isStarted,
    blockIds: idsAbove(state.blockIds),
    settings: idsAbove(state.settings),
    title: state.title,
    labels: namesAbove(state.labels),
    invalid: namesAbove(state.invalid),
    learned: namesAbove(state.learned),
    quarantined: idsAbove(state.quarantined),
    lateTools: idsAbove(state.lateTools),
    runIds: idsAbove(state.runIds),
    run: run === null ? null : { id: run.id, inferences: namesAbove(run.inferences), tools: namesAbove(run.tools) },
  };
}

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

/**
 * What a command makes happen. A repeated command that states a fact gives no events, so that every caller may retry;
 * one that permits an effect is refused, because no events would tell two callers to go.
 */
export function decide(state: ConversationState, command: Command): Result<readonly ConversationEvent[], Rejection> {
  switch (command.type) {
    case "StartConversation":
      return ok(state.isStarted ? [] : [{ type: "ConversationStarted", version: 1, data: command.data }]);
    case "Relabel":
      if (state.isStarted && !changesLabels(state, command.data)) return ok([]);
      return ok([...started(state), { type: "ConversationRelabelled", version: 1, data: command.data }]);
    case "AppendBlock":
      if (state.blockIds.has(command.data.block.id)) return ok([]);
      return ok([...started(state), { type: "BlockAppended", version: 1, data: command.data }]);
    case "DeclareSettings":
      if (state.settings.has(command.data.digest)) return ok([]);
      return ok([...started(state), { type: "SettingsDeclared", version: 1, data: command.data }]);
    case "StartRun":
      if (state.run !== null) return err({ code: "run-open", runId: state.run.id });
      if (state.runIds.has(command.runId)) return err({ code: "run-repeated", runId: command.runId });
      return ok([...started(state), { type: "RunStarted", version: 1, data: command.data }]);
    case "InvalidateAnchor":
      if (state.invalid.get(anchorName(command.data)) === true) return ok([]);
      return ok([{ type: "AnchorInvalidated", version: 1, data: command.data }]);
    case "LearnCapability":
      if (state.learned.get(capabilityName(command.data)) === command.data.value) return ok([]);
      return ok([{ type: "CapabilityLearned", version: 1, data: command.data }]);
    case "QuarantineReasoning":
      if (command.data.blockIds.every((id) => state.quarantined.has(id))) return ok([]);
      return ok([{ type: "ReasoningQuarantined", version: 1, data: command.data }]);
    case "FinishToolLate":
      if (state.lateTools.has(command.data.blockId)) return ok([]);
      return ok([{ type: "ToolFinished", version: 1, data: { ...command.data, late: true } }]);
    default:
      if (state.run?.id !== command.runId) return err({ code: "run-not-open", runId: command.runId });
      return decideInRun(state.run, command);
  }
}

type CommandInRun = Extract<Command, { readonly runId: string }>;

function decideInRun(
  run: RunState,
  command: Exclude<CommandInRun, { readonly type: "StartRun" }>,
): Result<readonly ConversationEvent[], Rejection> {
  switch (command.type) {
    case "EditTurn":
      return ok([{ type: "TurnEdited", version: 1, data: command.data }]);
    case "RequestInference": {
      const { inferenceId } = command.data;
      if (run.inferences.has(inferenceId)) return err({ code: "inference-repeated", inferenceId });
      return ok([{ type: "InferenceRequested", version: 1, data: command.data }]);
    }
    case "ReceiveResponse":
    case "FailInference": {
      const { inferenceId } = command.data;
      const inference = run.inferences.get(inferenceId);
      if (inference === undefined) return err({ code: "inference-not-open", inferenceId });
      if (inference === "closed") return ok([]);
      return command.type === "ReceiveResponse"
        ? ok([{ type: "ResponseReceived", version: 1, data: command.data }])
        : ok([{ type: "InferenceFailed", version: 1, data: command.data }]);
    }
    case "StartTool": {
      const { blockId } = command.data;
      if (run.tools.has(blockId)) return err({ code: "tool-repeated", blockId });
      return ok([{ type: "ToolStarted", version: 1, data: command.data }]);
    }
    case "FinishTool":
      if (run.tools.get(command.data.blockId) === "finished") return ok([]);
      return ok([{ type: "ToolFinished", version: 1, data: command.data }]);
    case "EndRun":
      return ok([command.event]);
    default:
      return unreachable(command);
  }
}

/**
 * The state after an event. It never refuses: history has happened. The state given is used up: it belongs to the fold
 * that made it with `initialState`, so that a long history costs no copies.
 */
export function evolve(state: ConversationState, event: ConversationEvent, runId: string | null): ConversationState {
  switch (event.type) {
    case "ConversationStarted":
      state.isStarted = true;
      relabel(state, event.data);
      break;
    case "ConversationRelabelled":
      relabel(state, event.data);
      break;
    case "BlockAppended":
      state.blockIds.add(event.data.block.id);
      break;
    case "SettingsDeclared":
      state.settings.add(event.data.digest);
      break;
    case "RunStarted":
      state.run = { id: runId ?? "", inferences: new Map(), tools: new Map() };
      state.runIds.add(state.run.id);
      break;
    case "InferenceRequested":
      // What the endpoint answers from now on can be lost again, and that would be news.
      state.invalid.set(anchorName({ scope: event.data.scope, responseId: null }), false);
      state.run?.inferences.set(event.data.inferenceId, "open");
      break;
    case "ResponseReceived":
    case "InferenceFailed":
      state.run?.inferences.set(event.data.inferenceId, "closed");
      break;
    case "ToolStarted":
      state.run?.tools.set(event.data.blockId, "started");
      break;
    case "ToolFinished":
      // A late result answers no call: whoever ends the run still does.
      if (event.data.late === true) state.lateTools.add(event.data.blockId);
      else state.run?.tools.set(event.data.blockId, "finished");
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
    case "RunCompleted":
    case "RunFailed":
    case "RunCancelled":
      state.run = null;
      break;
    default:
  }
  return state;
}

const started = (state: ConversationState): readonly ConversationEvent[] =>
  state.isStarted ? [] : [{ type: "ConversationStarted", version: 1, data: { origin: { type: "new" } } }];

type Naming = { readonly title?: string; readonly labels?: Readonly<Record<string, string>> };

const changesLabels = (state: ConversationState, { title, labels = {} }: Naming): boolean =>
  (title !== undefined && title !== state.title) ||
  Object.entries(labels).some(([name, value]) => state.labels.get(name) !== value);

function relabel(state: ConversationState, { title, labels = {} }: Naming): void {
  state.title = title ?? state.title;
  for (const [name, value] of Object.entries(labels)) state.labels.set(name, value);
}

const anchorName = ({ scope, responseId }: { readonly scope: string; readonly responseId: string | null }): string =>
  JSON.stringify([scope, responseId]);

const capabilityName = ({ scope, capability }: { readonly scope: string; readonly capability: string }): string =>
  JSON.stringify([scope, capability]);
