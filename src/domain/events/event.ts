import * as z from "zod";
import { compileValidator } from "../../base/compile-validator.ts";
import { messageOf } from "../../base/error-message.ts";
import { frozenJson } from "../../base/frozen-json.ts";
import { type JsonObject, type JsonValue, maxStoredNesting } from "../../base/json.ts";
import { TurnlogError } from "../../base/turnlog-error.ts";
import { type Actor, actorSchema } from "../actor.ts";
import {
  blockAppended,
  conversationRelabelled,
  conversationStarted,
  eventSkipped,
  settingsDeclared,
  turnCompacted,
  turnReverted,
} from "./conversation-events.ts";
import {
  inferenceFailed,
  inferenceRequested,
  responseReceived,
  responseStarted,
  stepRouted,
  warmUpAnswered,
  warmUpFailed,
  warmUpRequested,
} from "./inference-events.ts";
import {
  runCancelled,
  runCancelRequested,
  runCompleted,
  runFailed,
  runParked,
  runResumed,
  runStarted,
  turnEdited,
} from "./run-events.ts";
import {
  anchorInvalidated,
  capabilityLearned,
  contextImported,
  reasoningQuarantined,
  responseDeleted,
  serverConversationChanged,
  serverConversationDeleted,
} from "./server-events.ts";
import { effectFinished, effectStarted, toolFinished, toolParked, toolSettled, toolStarted } from "./tool-events.ts";
import { upcast } from "./upcast.ts";

/** Every event of a conversation, in its current version. */
export const conversationEventSchema = z.discriminatedUnion("type", [
  conversationStarted,
  conversationRelabelled,
  blockAppended,
  settingsDeclared,
  turnReverted,
  turnCompacted,
  eventSkipped,
  runStarted,
  runResumed,
  turnEdited,
  stepRouted,
  inferenceRequested,
  responseStarted,
  responseReceived,
  inferenceFailed,
  warmUpRequested,
  warmUpAnswered,
  warmUpFailed,
  anchorInvalidated,
  capabilityLearned,
  contextImported,
  responseDeleted,
  reasoningQuarantined,
  serverConversationChanged,
  serverConversationDeleted,
  toolStarted,
  toolFinished,
  toolParked,
  toolSettled,
  effectStarted,
  effectFinished,
  runParked,
  runCancelRequested,
  runCompleted,
  runFailed,
  runCancelled,
]);
export type ConversationEvent = z.infer<typeof conversationEventSchema>;
export type ConversationEventOf<T extends ConversationEvent["type"]> = Extract<ConversationEvent, { readonly type: T }>;

export type RunEnd = ConversationEventOf<"RunCompleted" | "RunFailed" | "RunCancelled">;

export const isRunEnd = (event: ConversationEvent): event is RunEnd =>
  event.type === "RunCompleted" || event.type === "RunFailed" || event.type === "RunCancelled";

/** A provider call, of a run or to ready a connection. */
export type RequestEvent = ConversationEventOf<"InferenceRequested" | "WarmUpRequested">;

export const isRequest = (event: ConversationEvent): event is RequestEvent =>
  event.type === "InferenceRequested" || event.type === "WarmUpRequested";

/** An event type or version that this turnlog does not know, or data that is not of its schema. Never skipped. */
export class UnreadableEventError extends TurnlogError<"unreadable-event"> {
  override readonly name = "UnreadableEventError";

  constructor(message: string, options?: ErrorOptions) {
    super("unreadable-event", message, options);
  }
}

/** An event that could not be read again: somebody gave a value that types would have refused. Nothing was recorded. */
export class InvalidEventError extends TurnlogError<"invalid-event"> {
  override readonly name = "InvalidEventError";

  constructor(message: string, options?: ErrorOptions) {
    super("invalid-event", message, options);
  }
}

/** An event to be written, and who made it. */
type Made = { readonly event: ConversationEvent; readonly actor: Actor };

/**
 * What is written of an event: the event, or where it has members that are undefined, what JSON makes of it. What is not of
 * its schema would damage the conversation for good.
 *
 * @throws {InvalidEventError} when it, or who is said to have made it, is not of its schema.
 */
export function recordable(event: ConversationEvent, actor: Actor): Made {
  return isConversationEvent(event) && isKnownActor(actor) ? { event, actor } : stripped(event, actor);
}

function stripped(given: ConversationEvent, givenActor: Actor): Made {
  const event: unknown = asJson(given, given.type);
  const actor: unknown = asJson(givenActor, given.type);
  if (!isConversationEvent(event)) throw refused(given.type, problemIn(conversationEventSchema, event));
  if (!isKnownActor(actor)) throw refused(given.type, `: its actor${problemIn(actorSchema, actor)}`);
  return { event, actor };
}

function asJson(value: JsonValue, type: string): JsonValue {
  try {
    return frozenJson(value, "it", maxStoredNesting);
  } catch (cause) {
    throw refused(type, `: ${messageOf(cause)}`);
  }
}

const refused = (type: string, why: string): InvalidEventError =>
  new InvalidEventError(`${type} cannot be recorded${why}`);

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
  throw new UnreadableEventError(
    `cannot read ${type} version ${version}${problemIn(conversationEventSchema, current)}`,
  );
}

// The schema is asked for what is wrong, and where.
const isConversationEvent = compileValidator(conversationEventSchema);
const isKnownActor = compileValidator(actorSchema);

function problemIn(schema: z.ZodType, value: unknown): string {
  const issue = schema.safeParse(value).error?.issues[0];
  return issue === undefined ? "" : `: ${issue.path.join(".")} ${issue.message}`;
}
