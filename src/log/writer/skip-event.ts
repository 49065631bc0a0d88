import { TurnlogError } from "../../base/turnlog-error.ts";
import type { Actor } from "../../domain/actor.ts";
import type { ConversationEventOf } from "../../domain/events/event.ts";
import type { ConversationId } from "../../domain/ids.ts";
import { ConversationDamagedError } from "../../projections/damage.ts";
import { firstBreak, foundDigest } from "../codec/envelope.ts";
import type { EventLog } from "../codec/event-log.ts";
import { foldHistory } from "../history/lineage.ts";
import { isSkippedAsFound, SkippedEvents, skipsOf } from "../history/skipped-events.ts";
import { envelopeAt } from "../ports/event-store.ts";
import { appendNext } from "./append-next.ts";
import { notifyForks } from "./notify-forks.ts";

type Skip = {
  readonly revision: number;
  readonly reason: string;
  readonly actor: Actor;
  /** Also skips the events that become invalid once this one is left out. */
  readonly allThatFollow: boolean;
};

/** The result of a skip. */
export type SkipOutcome = {
  /** The events that this call skipped; empty if they were already skipped. */
  readonly skipped: readonly number[];
  /** The damage at which folds stop then, one after another; each is found by leaving out those before it. Ends at `maxFollowing`. */
  readonly damage: readonly ConversationDamagedError[];
  /** The forks that inherit skipped events, and forks of these: this call recorded it in their own streams. */
  readonly forks: readonly ConversationId[];
};

/** At most this many events that depend on a damaged one are counted, or skipped at once: a fork loses less. */
export const maxFollowing = 100;

/**
 * Continues without a damaged event (rule: Damage) that an operator has examined. If the event belongs to the open run, that run ends.
 * The skip is written without a decision, because there is no state to decide on. Repeating it has no effect, or finishes what was
 * interrupted.
 *
 * @throws {TurnlogError} `event-not-damaged` if the conversation's first damage is elsewhere, or the event is readable, so that folds do
 * not stop there; it names a broken chain.
 */
export async function skipEvent(log: EventLog, stream: string, skip: Skip): Promise<SkipOutcome> {
  const { revision, reason, actor, allThatFollow } = skip;
  const isKnown = await isSkipped(log, stream, revision);
  const found = await damageOf(log, stream);
  const isDue = !isKnown && !(await wasSkipped(log, stream, revision));
  if (isDue && (found[0]?.stream !== stream || found[0].revision !== revision))
    throw await notDamaged(log, stream, { revision, found });
  const left = isDue ? found.slice(1) : found;
  const following = left.flatMap((damage) =>
    damage.stream === stream && damage.revision !== null ? [damage.revision] : [],
  );
  if (allThatFollow && left.length > maxFollowing)
    throw new TurnlogError(
      "event-not-damaged",
      `more than ${maxFollowing} events follow from revision ${revision} of ${stream}: fork from before it, or restore a backup`,
    );
  const skipped = [...(isKnown ? [] : [revision]), ...(allThatFollow ? following : [])];
  if (skipped.length > 0) await append(log, stream, { reason, actor, skipped });
  // Snapshots of this conversation and of its forks hold what was skipped. Which ones is unknown, so all are rebuilt.
  await log.store.snapshots?.deleteAll();
  const forks = await notifyForks(log, stream, { actor, skipped });
  return { skipped, forks, damage: allThatFollow ? left.filter((damage) => damage.stream !== stream) : left };
}

async function append(
  log: EventLog,
  stream: string,
  { reason, actor, skipped }: Pick<Skip, "reason" | "actor"> & Pick<SkipOutcome, "skipped">,
): Promise<void> {
  const entries = await Promise.all(
    skipped.map(async (revision) => {
      const envelope = await envelopeAt(log.store, stream, revision);
      const found = envelope === null ? {} : { found: foundDigest(envelope) };
      const event: ConversationEventOf<"EventSkipped"> = {
        ...{ type: "EventSkipped", version: 1, data: { revision, reason, ...found } },
      };
      // The run of the damaged event, from its envelope.
      return { event, actor, runId: envelope?.runId };
    }),
  );
  await appendNext(log, stream, entries);
}

async function wasSkipped(log: EventLog, stream: string, revision: number): Promise<boolean> {
  return (await skipsOf(log, stream, revision)).length > 0;
}

/** Whether the event was skipped in its current form. */
async function isSkipped(log: EventLog, stream: string, revision: number): Promise<boolean> {
  const envelope = await envelopeAt(log.store, stream, revision);
  return envelope !== null && isSkippedAsFound(log, envelope);
}

/** The damage at which folds stop and that was not skipped, one after another, as if each had been skipped. */
async function damageOf(log: EventLog, stream: string): Promise<readonly ConversationDamagedError[]> {
  const around = new SkippedEvents();
  const found: ConversationDamagedError[] = [];
  while (found.length <= maxFollowing) {
    const damage = await firstDamage(log, stream, around);
    if (damage === null) return found;
    const { revision } = damage;
    if (damage.stream === null || revision === null || around.has(damage.stream, revision)) return [...found, damage];
    const isKnown = await wasSkipped(log, damage.stream, revision);
    if (!isKnown) found.push(damage);
    // Damage in an ancestor has to be skipped there.
    if (!isKnown && damage.stream !== stream) return found;
    // Leave it out as if it were skipped: no reader asks who skipped it.
    around.add(damage.stream, revision, revision);
  }
  return found;
}

async function firstDamage(
  log: EventLog,
  stream: string,
  skipped: SkippedEvents,
): Promise<ConversationDamagedError | null> {
  try {
    await foldHistory(log, stream, { skipped });
    return null;
  } catch (error) {
    if (error instanceof ConversationDamagedError) return error;
    throw error;
  }
}

async function notDamaged(
  log: EventLog,
  stream: string,
  { revision, found }: { readonly revision: number; readonly found: readonly ConversationDamagedError[] },
): Promise<TurnlogError> {
  const [first] = found;
  if (first !== undefined)
    return new TurnlogError("event-not-damaged", `the first damage is ${first.message}: skip that event, or none`, {
      cause: first,
    });
  const nothing = `there is nothing to skip at revision ${revision}`;
  const broken = await firstBreak(log.store, stream);
  if (broken === null) return new TurnlogError("event-not-damaged", `${stream} is sound: ${nothing}`);
  const { envelope, reason } = broken;
  const changed = `revision ${envelope.revision} of ${stream} was changed (${reason}) and can still be read`;
  const instead = envelope.revision === 0 ? "restore a backup" : "fork from before it, or restore a backup";
  return new TurnlogError("event-not-damaged", `${changed}, so no reader stops there, and ${nothing}: ${instead}`);
}
