import * as z from "zod";
import { compileValidator } from "../../base/compile-validator.ts";
import { messageOf } from "../../base/error-message.ts";
import { frozenJson } from "../../base/frozen-json.ts";
import { type JsonObject, type JsonValue, maxStoredNesting } from "../../base/json.ts";
import { TurnlogError } from "../../base/turnlog-error.ts";
import { type Actor, actorSchema } from "../actor.ts";
import {
  ancestorEventsSkipped,
  blockAppended,
  conversationRelabelled,
  conversationStarted,
  eventSkipped,
  linesErased,
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
import {
  approvalDecided,
  approvalRequested,
  effectFinished,
  effectStarted,
  toolFinished,
  toolParked,
  toolSettled,
  toolStarted,
} from "./tool-events.ts";
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
  ancestorEventsSkipped,
  linesErased,
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
  approvalRequested,
  approvalDecided,
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

/** A provider call, of a run or for a warm-up. */
export type RequestEvent = ConversationEventOf<"InferenceRequested" | "WarmUpRequested">;

export const isRequest = (event: ConversationEvent): event is RequestEvent =>
  event.type === "InferenceRequested" || event.type === "WarmUpRequested";

/** This turnlog does not know the event's type or version, or the data does not match its schema. Never skipped silently. */
export class UnreadableEventError extends TurnlogError<"unreadable-event"> {
  override readonly name = "UnreadableEventError";

  constructor(message: string, options?: ErrorOptions) {
    super("unreadable-event", message, options);
  }
}

/** The event could not be read back: a caller passed a value that the types forbid. Nothing was recorded. */
export class InvalidEventError extends TurnlogError<"invalid-event"> {
  override readonly name = "InvalidEventError";

  constructor(message: string, options?: ErrorOptions) {
    super("invalid-event", message, options);
  }
}

/** An event to write, and who made it. */
type Made = { readonly event: ConversationEvent; readonly actor: Actor };

/**
 * The form of an event that is written: the event itself, or without its undefined members, as JSON omits them. An event that does
 * not match its schema would damage the conversation for good.
 *
 * @throws {InvalidEventError} if the event or its actor does not match its schema.
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
 * Reads a stored event of any version.
 *
 * @throws {UnreadableEventError} for an unknown type or version, or data that does not match its schema.
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

// Only the schema can say what is wrong, and where.
const isConversationEvent = compileValidator(conversationEventSchema);
const isKnownActor = compileValidator(actorSchema);

function problemIn(schema: z.ZodType, value: unknown): string {
  const issue = schema.safeParse(value).error?.issues[0];
  return issue === undefined ? "" : `: ${issue.path.join(".")} ${issue.message}`;
}
