import type { Actor } from "../../domain/actor.ts";
import { ConversationDamagedError } from "../../projections/damage.ts";
import type { EventLog } from "../codec/event-log.ts";
import { StreamContendedError } from "../conversation-stream.ts";
import { foldWhole } from "../keyframes/fold.ts";
import { skipReason } from "./skipped-events.ts";

/** Only an event that cannot be read or folded is skipped: what is sound counts. */
export class EventNotDamagedError extends Error {
  override readonly name = "EventNotDamagedError";
  readonly code = "event-not-damaged";
}

type Skip = { readonly revision: number; readonly reason: string; readonly actor: Actor };

const attemptsMax = 50;

/**
 * Goes on without a damaged event (MODEL 13): an operator has looked at it. Written without deciding on a state, because
 * there is none; twice is once.
 *
 * @throws {EventNotDamagedError} when the first damage of the conversation is elsewhere, or there is none.
 */
export async function skipEvent(log: EventLog, stream: string, { revision, reason, actor }: Skip): Promise<void> {
  if ((await skipReason(log, stream, revision)) !== null) return;
  await mustBeDamaged(log, stream, revision);
  for (let attempt = 1; attempt <= attemptsMax; attempt += 1) {
    const event = { type: "EventSkipped", version: 1, data: { revision, reason }, actor };
    const result = await log.append(stream, await log.store.head(stream), [event]);
    if (result.status === "appended") return;
  }
  throw new StreamContendedError(stream);
}

async function mustBeDamaged(log: EventLog, stream: string, revision: number): Promise<void> {
  const head = await log.store.head(stream);
  try {
    if (head !== null) await foldWhole(log, stream, head.revision);
  } catch (error) {
    if (!(error instanceof ConversationDamagedError)) throw error;
    if (error.stream === stream && error.revision === revision) return;
    throw new EventNotDamagedError(`the damage shows ${error.message}: skip that event, or none`, { cause: error });
  }
  throw new EventNotDamagedError(`${stream} is sound: there is nothing to skip at revision ${revision}`);
}
