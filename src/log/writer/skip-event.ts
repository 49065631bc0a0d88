import { TurnlogError } from "../../base/turnlog-error.ts";
import type { Actor } from "../../domain/actor.ts";
import type { ConversationEventOf } from "../../domain/events/event.ts";
import { ConversationDamagedError } from "../../projections/damage.ts";
import { firstBreak, foundDigest } from "../codec/envelope.ts";
import type { EventLog } from "../codec/event-log.ts";
import { foldHistory } from "../history/lineage.ts";
import { isSkippedAsFound, SkippedEvents, skipsOf } from "../history/skipped-events.ts";
import { envelopeAt } from "../ports/event-store.ts";
import { streamContended } from "./conversation-writer.ts";

type Skip = {
  readonly revision: number;
  readonly reason: string;
  readonly actor: Actor;
  /** Skips the events too that no longer follow once this one is left out. */
  readonly allThatFollow: boolean;
};

/** What became of a skip. */
export type SkipOutcome = {
  /** The events that were skipped by this call; none when it had been done before. */
  readonly skipped: readonly number[];
  /** What folds stop at then, one after another; each is known once those before it are left out. Ends with `maxFollowing`. */
  readonly damage: readonly ConversationDamagedError[];
};

const maxAttempts = 50;

/** More than so many events that follow from a damaged one are not counted, nor skipped at once: a fork loses less. */
export const maxFollowing = 100;

/**
 * Goes on without a damaged event (rule: Damage): an operator has looked at it. A run that it stood in, and that is open still,
 * is over with that. Written without deciding on a state, because there is none; twice is once.
 *
 * @throws {TurnlogError} `event-not-damaged` when the first damage of the conversation is elsewhere, or it still reads, so that nothing stops there; a broken chain is named.
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
  // Those of this conversation and of its forks hold what was skipped, and which do nobody knows: all are made anew.
  await log.store.snapshots?.deleteAll();
  return { skipped, damage: allThatFollow ? left.filter((damage) => damage.stream !== stream) : left };
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
      // The run that the damaged event stands in, as its envelope says.
      return { event, actor, runId: envelope?.runId };
    }),
  );
  for (let attempt = 1; attempt <= maxAttempts; attempt += 1) {
    const result = await log.append(stream, await log.store.head(stream), entries);
    if (result.status === "appended") return;
  }
  throw streamContended(stream);
}

async function wasSkipped(log: EventLog, stream: string, revision: number): Promise<boolean> {
  return (await skipsOf(log, stream, revision)).length > 0;
}

/** Whether somebody skipped the event as it is now. */
async function isSkipped(log: EventLog, stream: string, revision: number): Promise<boolean> {
  const envelope = await envelopeAt(log.store, stream, revision);
  return envelope !== null && isSkippedAsFound(log, envelope);
}

/** What folds stop at that nobody skipped, one after another, as if each had been. */
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
    // What an ancestor lacks is skipped there.
    if (!isKnown && damage.stream !== stream) return found;
    // What is not skipped yet is gone around as if it were: nobody reads by whom.
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
    return new TurnlogError("event-not-damaged", `the damage shows ${first.message}: skip that event, or none`, {
      cause: first,
    });
  const nothing = `there is nothing to skip at revision ${revision}`;
  const broken = await firstBreak(log.store, stream);
  if (broken === null) return new TurnlogError("event-not-damaged", `${stream} is sound: ${nothing}`);
  const { envelope, reason } = broken;
  const changed = `revision ${envelope.revision} of ${stream} was changed (${reason}) and can still be read`;
  const instead = envelope.revision === 0 ? "restore a backup" : "fork from before it, or restore a backup";
  return new TurnlogError("event-not-damaged", `${changed}, so nothing stops there, and ${nothing}: ${instead}`);
}
