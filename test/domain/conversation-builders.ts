import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { isJsonObject } from "../../src/base/json.ts";
import {
  type Command,
  type ConversationState,
  decide,
  evolve,
  initialState,
  type Rejection,
} from "../../src/domain/conversation.ts";
import {
  type ConversationEvent,
  type ConversationEventOf,
  parseConversationEvent,
} from "../../src/domain/events/event.ts";

/** The run of every event and command here that belongs to one. */
export const runId = "run_V1StGXR8Z5jdHi6B0003";

/** An event of a type, as the golden files have it, with some of its data changed. */
export function eventOf<T extends ConversationEvent["type"]>(
  type: T,
  changes: Partial<ConversationEventOf<T>["data"]> = {},
): ConversationEventOf<T> {
  const path = join(import.meta.dirname, "../golden/events", `${type}-1.json`);
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
