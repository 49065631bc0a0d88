import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { isJsonObject } from "../../../src/base/json.ts";
import type { Command, Rejection } from "../../../src/domain/commands.ts";
import { decide, evolve } from "../../../src/domain/conversation.ts";
import { type ConversationState, initialState } from "../../../src/domain/conversation-state.ts";
import {
  type ConversationEvent,
  type ConversationEventOf,
  parseConversationEvent,
} from "../../../src/domain/events/event.ts";

/** The run of every event and command here that belongs to one. */
export const runId = "run_V1StGXR8Z5jdHi6B0003";

/** An event of a type, as the golden files have it, with some of its data changed. */
export function eventOf<T extends ConversationEvent["type"]>(
  type: T,
  changes: Partial<ConversationEventOf<T>["data"]> = {},
): ConversationEventOf<T> {
  const path = join(import.meta.dirname, "../../golden/events", `${type}-1.json`);
  const json: unknown = JSON.parse(readFileSync(path, "utf8"));
  const data = isJsonObject(json) && isJsonObject(json["data"]) ? json["data"] : {};
  const event = parseConversationEvent(type, 1, { ...data, ...changes });
  if (!isOfType(event, type)) throw new Error(`${type} was read as ${event.type}`);
  return event;
}

function isOfType<T extends ConversationEvent["type"]>(
  event: ConversationEvent,
  type: T,
): event is ConversationEventOf<T> {
  return event.type === type;
}

/** The state after these events, all of them of one run where they are of one. */
export const stateAfter = (...events: readonly ConversationEvent[]): ConversationState =>
  events.reduce((state, event) => evolve(state, event, runId), initialState());

/** What a command comes to after these events. */
export const given = (...events: readonly ConversationEvent[]) => ({
  when(command: Command) {
    const result = decide(stateAfter(...events), command);
    return {
      emits: (...expected: readonly ConversationEvent[]) => {
        expect(result).toEqual({ ok: true, value: expected });
      },
      emitsNothing: () => {
        expect(result).toEqual({ ok: true, value: [] });
      },
      isRefused: (rejection: Rejection) => {
        expect(result).toEqual({ ok: false, error: rejection });
      },
    };
  },
});

export const begun = eventOf("ConversationStarted", { origin: { type: "new" } });
export const runStarted = eventOf("RunStarted");
export const requested = eventOf("InferenceRequested");
export const received = eventOf("ResponseReceived");
export const failed = eventOf("InferenceFailed");
export const toolStarted = eventOf("ToolStarted");
const { late: _, ...finishedData } = eventOf("ToolFinished").data;
export const toolFinished: ConversationEvent = { type: "ToolFinished", version: 1, data: finishedData };
export const completed = eventOf("RunCompleted");
export const { inferenceId } = requested.data;
export const { blockId } = toolStarted.data;

/** A conversation without title, as a first append makes it. */
export const bare: ConversationEvent = { type: "ConversationStarted", version: 1, data: { origin: { type: "new" } } };
export const running = [begun, runStarted];
export const asked = [...running, requested];

export const commands = {
  start: { type: "StartConversation", data: begun.data },
  relabel: { type: "Relabel", data: { title: "Rome", labels: { team: "travel" } } },
  append: { type: "AppendBlock", data: eventOf("BlockAppended").data },
  declare: { type: "DeclareSettings", data: eventOf("SettingsDeclared").data },
  startRun: { type: "StartRun", runId, data: runStarted.data },
  edit: { type: "EditTurn", runId, data: eventOf("TurnEdited").data },
  request: { type: "RequestInference", runId, data: requested.data },
  receive: { type: "ReceiveResponse", runId, data: received.data },
  fail: { type: "FailInference", runId, data: failed.data },
  invalidate: { type: "InvalidateAnchor", data: eventOf("AnchorInvalidated").data },
  learn: { type: "LearnCapability", data: eventOf("CapabilityLearned").data },
  quarantine: { type: "QuarantineReasoning", data: eventOf("ReasoningQuarantined").data },
  startTool: { type: "StartTool", runId, data: toolStarted.data },
  finishTool: { type: "FinishTool", runId, data: finishedData },
  finishLate: { type: "FinishToolLate", data: finishedData },
  endRun: { type: "EndRun", runId, event: completed },
} as const satisfies Record<string, Command>;
