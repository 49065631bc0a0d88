import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { isJsonObject } from "../../../src/base/json.ts";
import { decide, type Rejection } from "../../../src/domain/decider/decide.ts";
import { AppendDraft, noConversationFacts } from "../../../src/domain/decider/draft.ts";
import {
  type ConversationEvent,
  type ConversationEventOf,
  parseConversationEvent,
} from "../../../src/domain/events/event.ts";
import type { ProposedEvent } from "../../../src/domain/events/recorded.ts";

/** The run of every event here that belongs to one. */
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

/** The facts after these events, all of them of one run where they are of one. */
export function factsAfter(...events: readonly ConversationEvent[]): AppendDraft {
  const draft = new AppendDraft(noConversationFacts);
  for (const event of events) draft.take(event, runId);
  return draft;
}

/** What a proposed event comes to after these events. */
export const given = (...events: readonly ConversationEvent[]) => ({
  when(event: ProposedEvent["event"], inRun: string = runId) {
    const result = decide(factsAfter(...events), event, inRun);
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
export const toolFinished: ConversationEventOf<"ToolFinished"> = {
  type: "ToolFinished",
  version: 1,
  data: finishedData,
};
export const completed = eventOf("RunCompleted");
export const { inferenceId } = requested.data;
export const { blockId } = toolStarted.data;

/** A conversation without title, as a first append makes it. */
export const bare: ConversationEvent = { type: "ConversationStarted", version: 1, data: { origin: { type: "new" } } };
export const running = [begun, runStarted];
export const asked = [...running, requested];

export const proposals = {
  start: begun,
  relabel: { type: "ConversationRelabelled", version: 1, data: { title: "Rome", labels: { team: "travel" } } },
  append: eventOf("BlockAppended"),
  declare: eventOf("SettingsDeclared"),
  startRun: runStarted,
  edit: eventOf("TurnEdited"),
  request: requested,
  receive: received,
  fail: failed,
  invalidate: eventOf("AnchorInvalidated"),
  learn: eventOf("CapabilityLearned"),
  quarantine: eventOf("ReasoningQuarantined"),
  startTool: toolStarted,
  finishTool: toolFinished,
  finishLate: eventOf("ToolFinished"),
  endRun: completed,
} as const satisfies Record<string, ProposedEvent["event"]>;
