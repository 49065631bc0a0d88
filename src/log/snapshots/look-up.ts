import { namedByEvents, namesIn } from "../../domain/decider/names.ts";
import type { ProposedEvent, RecordedEvent } from "../../domain/events/recorded.ts";
import type { BlockId } from "../../domain/ids.ts";
import { type CompletedRun, endOf } from "../../projections/client-turn/answers.ts";
import { completedRun } from "../aggregate/conversation-fold.ts";
import type { EventReader } from "../codec/event-log.ts";
import { recordedAt } from "../history/read-events.ts";
import { envelopeAt } from "../ports/event-store.ts";
import type { RestoredFold } from "./restore.ts";

/**
 * The run that answered a block, or (for null) the run that answered the Turn: the newest one that ended with the Turn's last block, if the
 * Turn's last appended block, if there is one, was answered. Null if there is none; undefined if the cache has lost the list that would say so.
 */
export async function answeredBy(
  { store }: EventReader,
  { fold, names }: RestoredFold,
  blockId: BlockId | null,
): Promise<CompletedRun | null | undefined> {
  const { committed, answers: view } = fold.view.client;
  const end = blockId === null ? endOf(committed, view.notes) : { message: blockId, last: null };
  if (end === null) return null;
  const { message, last } = end;
  const answers = message === null ? null : await names.find(store.snapshots, "answer", [message]);
  const ends = last === null ? null : await names.find(store.snapshots, "end", [last]);
  if (answers === undefined || ends === undefined) return undefined;
  const answer = message === null ? undefined : answers?.get(message);
  const entry = last === null ? answer : ends?.get(last);
  if (entry === undefined || (message !== null && answer === undefined)) return null;
  const runId = entry.runId ?? (await envelopeAt(store, entry.stream, entry.numbers[1] ?? 0))?.runId ?? "";
  return completedRun(entry, runId);
}

/** The event that appended a block outside runs; null if there is none, undefined if the cache has lost the list that would say so. */
export async function appendedBy(
  reader: EventReader,
  { names }: RestoredFold,
  blockId: BlockId,
): Promise<RecordedEvent | null | undefined> {
  const found = await names.find(reader.store.snapshots, "block", [blockId]);
  if (found === undefined) return undefined;
  const entry = found.get(blockId);
  const [revision] = entry?.numbers ?? [];
  return entry === undefined || revision === undefined ? null : recordedAt(reader, entry.stream, revision);
}

/**
 * Loads, from before the fold's newest snapshot, the names in proposed events that are already taken: `decide` asks about them.
 * Returns false if the cache has lost a list.
 */
export async function holdNames(
  { store }: EventReader,
  { names }: RestoredFold,
  entries: readonly ProposedEvent[],
): Promise<boolean> {
  if (names.lists.length === 0) return true;
  // An id just generated at random is in no list.
  const asked = entries.flatMap(({ event, runId = null, isIdNew }) => (isIdNew === true ? [] : namesIn(event, runId)));
  for (const kind of namedByEvents) {
    const wanted = asked.flatMap(([each, name]) => (each === kind ? [name] : []));
    const unknown = wanted.filter((name) => names.held.get(kind, name) === undefined);
    const found = await names.find(store.snapshots, kind, unknown);
    if (found === undefined) return false;
    for (const [name, entry] of found) names.held.set(kind, name, entry);
  }
  return true;
}
