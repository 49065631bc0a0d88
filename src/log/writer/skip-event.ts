import { TurnlogError } from "../../base/turnlog-error.ts";
import type { Actor } from "../../domain/actor.ts";
import { ConversationDamagedError } from "../../projections/damage.ts";
import { checkEnvelope } from "../codec/envelope.ts";
import type { EventLog } from "../codec/event-log.ts";
import { skipReason } from "../history/skipped-events.ts";
import { type EventStore, envelopeAt, type Head } from "../ports/event-store.ts";
import { foldWhole } from "../snapshots/fold.ts";
import { streamContended } from "./conversation-writer.ts";

type Skip = { readonly revision: number; readonly reason: string; readonly actor: Actor };

const maxAttempts = 50;

/**
 * Goes on without a damaged event (rule: Damage): an operator has looked at it. A run that it stood in, and that is open still,
 * is over with that. Written without deciding on a state, because there is none; twice is once.
 *
 * @throws {TurnlogError} `event-not-damaged` when the first damage of the conversation is elsewhere, or no fold stops; a broken chain is named.
 */
export async function skipEvent(log: EventLog, stream: string, { revision, reason, actor }: Skip): Promise<void> {
  if ((await skipReason(log, stream, revision)) !== null) return;
  await mustBeDamaged(log, stream, revision);
  // The run that the damaged event stands in, as its envelope says.
  const runId = (await envelopeAt(log.store, stream, revision))?.runId;
  for (let attempt = 1; attempt <= maxAttempts; attempt += 1) {
    const event = { type: "EventSkipped", version: 1, data: { revision, reason } };
    const result = await log.append(stream, await log.store.head(stream), [{ event, actor, runId }]);
    if (result.status === "appended") return;
  }
  throw streamContended(stream);
}

async function mustBeDamaged(log: EventLog, stream: string, revision: number): Promise<void> {
  const head = await log.store.head(stream);
  try {
    if (head !== null) await foldWhole(log, stream, head.revision);
  } catch (error) {
    if (!(error instanceof ConversationDamagedError)) throw error;
    if (error.stream === stream && error.revision === revision) return;
    throw new TurnlogError("event-not-damaged", `the damage shows ${error.message}: skip that event, or none`, {
      cause: error,
    });
  }
  const nothing = `there is nothing to skip at revision ${revision}`;
  const broken = await firstBreak(log.store, stream);
  if (broken === null) throw new TurnlogError("event-not-damaged", `${stream} is sound: ${nothing}`);
  const where = `revision ${broken.revision} of ${stream}, where the chain is broken (${broken.reason})`;
  const instead = broken.revision === 0 ? "restore a backup" : "fork from before it, or restore a backup";
  throw new TurnlogError("event-not-damaged", `no fold stops at ${where}, so ${nothing}: ${instead}`);
}

/** The first event that is not what was written. It may read as well as before: folds do not verify (rule: Envelope and hash chain). */
async function firstBreak(store: EventStore, stream: string): Promise<{ revision: number; reason: string } | null> {
  let head: Head | null = null;
  for await (const envelope of store.readStream(stream)) {
    const checked = checkEnvelope(head, envelope);
    if (!checked.ok) return { revision: envelope.revision, reason: checked.error.reason };
    head = checked.value;
  }
  return null;
}
