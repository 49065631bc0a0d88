import type { ProposedEvent, RecordedEvent } from "../../domain/events/recorded.ts";
import type { BlockId } from "../../domain/ids.ts";
import type { CompletedRun } from "../../projections/answers.ts";
import { type EventReader, eventAt } from "../codec/event-log.ts";
import { envelopeAt } from "../ports/event-store.ts";
import { type ConversationFold, completedRun, nameIn } from "./conversation-fold.ts";

/** The run that answered a block, or (null) the one that left nothing to answer; null when there is none. */
export async function answeredBy(
  { store }: EventReader,
  fold: ConversationFold,
  blockId: BlockId | null,
): Promise<CompletedRun | null> {
  const { answers } = fold.view.client;
  const name = blockId ?? answers.cameBackTo;
  if (name === null || (blockId === null && answers.answeredBy !== null)) return answers.answeredBy;
  const kind = blockId === null ? "turn" : "answer";
  const entry = (await fold.names.find(store.snapshots, kind, [name])).get(name);
  let run = entry === undefined ? null : completedRun(entry, entry.runId ?? "");
  if (run?.runId === "") run = { ...run, runId: (await envelopeAt(store, run.stream, run.to))?.runId ?? "" };
  if (kind === "turn" && answers.cameBackTo === name) Object.assign(answers, { answeredBy: run, cameBackTo: null });
  return run;
}

/** The event that appended a block from outside a run; null when none did. */
export async function appendedBy(
  reader: EventReader,
  { names }: ConversationFold,
  blockId: BlockId,
): Promise<RecordedEvent | null> {
  const entry = (await names.find(reader.store.snapshots, "block", [blockId])).get(blockId);
  const [revision] = entry?.numbers ?? [];
  return entry === undefined || revision === undefined ? null : eventAt(reader, entry.stream, revision);
}

/** Has the fold hold those of the names in proposed events that were given before its newest snapshot: `decide` asks for them. */
export async function holdNames(
  { store }: EventReader,
  { names }: ConversationFold,
  entries: readonly ProposedEvent[],
): Promise<void> {
  if (names.lists.length === 0) return;
  // The whole history would be looked through for what nobody can have given yet.
  const asked = entries.map(({ event, runId = null, isIdNew }) => (isIdNew === true ? null : nameIn(event, runId)));
  for (const kind of ["block", "run", "late"] as const) {
    const wanted = asked.flatMap((name) => (name?.[0] === kind ? [name[1]] : []));
    const unknown = wanted.filter((name) => names.held(kind, name) === undefined);
    for (const [name, entry] of await names.find(store.snapshots, kind, unknown)) names.hold(kind, name, entry);
  }
}
