import { canonicalJson } from "../base/canonical-json.ts";
import { err, ok, type Result } from "../base/result.ts";
import { anchorName } from "./anchor-name.ts";
import type { Command, Rejection } from "./commands.ts";
import type { ConversationState } from "./conversation-state.ts";
import { decideInRun } from "./decide-run.ts";
import type { ConversationOrigin } from "./events/conversation-events.ts";
import type { ConversationEvent, ConversationEventOf } from "./events/event.ts";
import { learnedName } from "./events/inference-events.ts";

/**
 * What a command makes happen. A repeated command that states a fact gives no events, so that every caller may retry;
 * one that permits an effect is refused, because no events would tell two callers to go.
 */
export function decide(state: ConversationState, command: Command): Result<readonly ConversationEvent[], Rejection> {
  switch (command.type) {
    case "StartConversation":
      if (state.origin === null) return ok([{ type: "ConversationStarted", version: 1, data: command.data }]);
      return isSameOrigin(state.origin, command.data.origin) ? ok([]) : err({ code: "conversation-exists" });
    case "Relabel":
      if (state.origin !== null && !changesLabels(state, command.data)) return ok([]);
      return ok([...started(state), { type: "ConversationRelabelled", version: 1, data: command.data }]);
    case "AppendBlock":
      if (state.blockIds.has(command.data.block.id)) return ok([]);
      return ok([...started(state), { type: "BlockAppended", version: 1, data: command.data }]);
    case "DeclareSettings":
      if (state.settings.has(command.data.digest)) return ok([]);
      return ok([...started(state), { type: "SettingsDeclared", version: 1, data: command.data }]);
    case "RevertTurn":
      if (state.run !== null) return err({ code: "run-open", runId: state.run.id });
      return ok(command.data.edits.length === 0 ? [] : [{ type: "TurnReverted", version: 1, data: command.data }]);
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
      state.run = { id: runId ?? "", epoch: event.data.epoch, inferences: new Map(), effects: new Map() };
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
    case "RunResumed":
      if (state.run !== null) state.run.epoch = event.data.epoch;
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
      // A late result answers no call: whoever ends the run still does.
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

const started = (state: ConversationState): readonly ConversationEvent[] =>
  state.origin !== null ? [] : [{ type: "ConversationStarted", version: 1, data: { origin: { type: "new" } } }];

const isSameOrigin = (left: ConversationOrigin, right: ConversationOrigin): boolean =>
  canonicalJson(left) === canonicalJson(right);

type Naming = { readonly title?: string; readonly labels?: Readonly<Record<string, string>> };

const changesLabels = (state: ConversationState, { title, labels = {} }: Naming): boolean =>
  (title !== undefined && title !== state.title) ||
  Object.entries(labels).some(([name, value]) => state.labels.get(name) !== value);

function relabel(state: ConversationState, { title, labels = {} }: Naming): void {
  state.title = title ?? state.title;
  for (const [name, value] of Object.entries(labels)) state.labels.set(name, value);
}

const capabilityName = ({ scope, ...learned }: ConversationEventOf<"CapabilityLearned">["data"]): string =>
  JSON.stringify([scope, learnedName(learned)]);
