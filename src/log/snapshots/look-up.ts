import { namedByEvents, namesIn } from "../../domain/decider/names.ts";
import type { ProposedEvent, RecordedEvent } from "../../domain/events/recorded.ts";
import type { BlockId } from "../../domain/ids.ts";
import type { CompletedRun } from "../../projections/client-turn/answers.ts";
import { completedRun } from "../aggregate/conversation-fold.ts";
import type { EventReader } from "../codec/event-log.ts";
import { recordedAt } from "../history/read-events.ts";
import { envelopeAt } from "../ports/event-store.ts";
import type { RestoredFold } from "./restore.ts";

/**
 * The run that answered a block, or (for null) the run that left nothing unanswered; null if there is none. Undefined if the
 * cache has lost the list that would say so.
 */
export async function answeredBy(
  { store }: EventReader,
  { fold, names }: RestoredFold,
  blockId: BlockId | null,
): Promise<CompletedRun | null | undefined> {
  const { answers } = fold.view.client;
  const name = blockId ?? answers.cameBackTo;
  if (name === null || (blockId === null && answers.answeredBy !== null)) return answers.answeredBy;
  const kind = blockId === null ? "turn" : "answer";
  const found = await names.find(store.snapshots, kind, [name]);
  if (found === undefined) return undefined;
  const entry = found.get(name);
  let run = entry === undefined ? null : completedRun(entry, entry.runId ?? "");
  if (run?.runId === "") run = { ...run, runId: (await envelopeAt(store, run.stream, run.to))?.runId ?? "" };
  if (kind === "turn" && answers.cameBackTo === name) Object.assign(answers, { answeredBy: run, cameBackTo: null });
  return run;
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
