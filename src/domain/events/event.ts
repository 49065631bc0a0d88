import * as z from "zod";
import type { JsonObject } from "../../base/json.ts";
import { quickCheck } from "../../base/quick-check.ts";
import { type Actor, actorSchema } from "../actor.ts";
import {
  blockAppended,
  conversationRelabelled,
  conversationStarted,
  eventSkipped,
  settingsDeclared,
  turnReverted,
} from "./conversation-events.ts";
import {
  anchorInvalidated,
  capabilityLearned,
  inferenceFailed,
  inferenceRequested,
  reasoningQuarantined,
  responseReceived,
  responseStarted,
} from "./inference-events.ts";
import { runCancelled, runCompleted, runFailed, runParked, runResumed, runStarted, turnEdited } from "./run-events.ts";
import { effectFinished, effectStarted, toolFinished, toolParked, toolSettled, toolStarted } from "./tool-events.ts";
import { upcast } from "./upcast.ts";

/** Every event of a conversation, in its current version. */
export const conversationEventSchema = z.discriminatedUnion("type", [
  conversationStarted,
  conversationRelabelled,
  blockAppended,
  settingsDeclared,
  turnReverted,
  eventSkipped,
  runStarted,
  runResumed,
  turnEdited,
  inferenceRequested,
  responseStarted,
  responseReceived,
  inferenceFailed,
  anchorInvalidated,
  capabilityLearned,
  reasoningQuarantined,
  toolStarted,
  toolFinished,
  toolParked,
  toolSettled,
  effectStarted,
  effectFinished,
  runParked,
  runCompleted,
  runFailed,
  runCancelled,
]);
export type ConversationEvent = z.infer<typeof conversationEventSchema>;
export type ConversationEventOf<T extends ConversationEvent["type"]> = Extract<ConversationEvent, { readonly type: T }>;

/** An event type or version that this turnlog does not know, or data that is not of its schema. Never skipped. */
export class UnreadableEventError extends Error {
  override readonly name = "UnreadableEventError";
  readonly code = "unreadable-event";
}

/** An event that could not be read again: somebody gave a value that types would have refused. Nothing was recorded. */
export class InvalidEventError extends TypeError {
  override readonly name = "InvalidEventError";
  readonly code = "invalid-event";
}

/**
 * Asked before an event is written: what is not of its schema would damage the conversation for good.
 *
 * @throws {InvalidEventError} when it, or who is said to have made it, is not of its schema.
 */
export function checkRecordable(event: ConversationEvent, actor: Actor): void {
  const { type } = event;
  if (!isConversationEvent(event)) throw new InvalidEventError(`${type} cannot be recorded${problemOf(event)}`);
  if (!isActor(actor)) throw new InvalidEventError(`${type} cannot be recorded: nobody is ${JSON.stringify(actor)}`);
}

/**
 * Reads a stored event, whatever its version.
 *
 * @throws {UnreadableEventError} for an unknown type or version, or data that is not of its schema.
 */
export function parseConversationEvent(type: string, version: number, data: JsonObject): ConversationEvent {
  const current: unknown = upcast({ type, version, data });
  if (isConversationEvent(current)) return current;
  const parsed = conversationEventSchema.safeParse(current);
  if (parsed.success) return parsed.data;
  throw new UnreadableEventError(`cannot read ${type} version ${version}${problemOf(current)}`);
}

// The schema is asked for what is wrong, and where.
const isConversationEvent = quickCheck(conversationEventSchema);
const isActor = quickCheck(actorSchema);

function problemOf(event: unknown): string {
  const issue = conversationEventSchema.safeParse(event).error?.issues[0];
  return issue === undefined ? "" : `: ${issue.path.join(".")} ${issue.message}`;
}
