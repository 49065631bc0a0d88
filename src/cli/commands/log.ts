import type { Conversation } from "../../conversation/conversation.ts";
import type { TurnlogStore } from "../../conversation/turnlog-store.ts";
import { type Actor, isActor } from "../../domain/actor.ts";
import { conversationStream } from "../../domain/ids.ts";
import { type EventReading, followEnvelopes, readEach } from "../../log/codec/recorded.ts";
import { ConversationDamagedError } from "../../projections/damage.ts";
import { type TimelineRow, type TimelineView, timeline } from "../../projections/timeline.ts";
import { actorLabel, excerpt } from "../../projections/wording.ts";
import type { CliContext, CommandHandler } from "../context.ts";
import { type Changers, changedBy, differenceData, differenceLines } from "../difference.ts";
import { type ExitCode, exitCodes, UsageError } from "../exit-codes.ts";
import { findConversation, findRevision } from "../find.ts";
import { flag } from "../options.ts";
import { printTranscript } from "../printed-transcript.ts";
import { firstRevision, lastRevision, parsePlace } from "../revision.ts";
import type { Style } from "../style.ts";
import { type Cell, tableLines } from "../table.ts";
import { type TurnChange, TurnChanges } from "../turn-changes.ts";

/** What happened in a conversation, or what was said in it. */
export const run: CommandHandler = async (context, { arguments: [text = ""], options }) => {
  await using store = await context.openStore({ mustExist: true });
  const { conversation: name, at } = parsePlace(text);
  const conversation = await findConversation(store, name);
  const [from, to] =
    at.type === "range"
      ? [at.from, at.to]
      : [at.type === "one" ? at.revision : firstRevision, at.type === "one" ? at.revision : lastRevision];
  const range = {
    from: await findRevision(store, conversation, from),
    to: await findRevision(store, conversation, to),
  };
  if (range.from > range.to) throw new UsageError(`'${text}' ends before it begins: turn it round`);
  const isPatched = flag(options, "patch");
  if (isPatched && flag(options, "transcript"))
    throw new UsageError("--patch shows what events changed, and --transcript shows no events: give one of them");
  if (flag(options, "follow")) {
    if (at.type === "range" || flag(options, "transcript"))
      throw new UsageError("--follow shows events from one revision on: no range and no --transcript");
    return await followTimeline(context, store, conversation, { from: at.type === "one" ? range.from : 0, isPatched });
  }
  if (flag(options, "transcript")) await printTranscript(context, store, conversation, range);
  else await printTimeline(context, store, conversation, { ...range, isPatched });
  return exitCodes.ok;
};

type Shown = {
  readonly from: number;
  /** Whether every event comes with what it changed. */
  readonly isPatched: boolean;
};

/** A row of the timeline, or of an event that cannot be read and is shown all the same. */
type LogRow = Omit<TimelineRow, "type" | "actor"> & {
  readonly type: string;
  /** Null where it cannot be read either. */
  readonly actor: Actor | null;
  readonly problem: string | null;
};

type LogEntry = { readonly row: LogRow; readonly change: TurnChange | null };

async function printTimeline(
  context: CliContext,
  store: TurnlogStore,
  conversation: Conversation,
  { from, to, isPatched }: Shown & { readonly to: number },
): Promise<void> {
  const stream = conversationStream(conversation.id);
  const entries: LogEntry[] = [];
  const before = await readBefore(store, conversation, isPatched);
  for await (const entry of entriesOf(readEach(store.events, store.events.readStream(stream)), before)) {
    if (entry.row.revision > to) break;
    if (entry.row.revision >= from) entries.push(entry);
  }
  if (before.changes?.isLost === true)
    context.note("what events changed is not known from the first damaged one on: `turnlog verify` names it");
  const rows = entries.map(({ row }) => row);
  if (context.isJson) {
    const events = entries.map((entry) => entryData(entry, isPatched));
    context.printJson({ conversation: conversation.id, events });
    return;
  }
  const days = new Set(rows.map(({ at }) => at.slice(0, 10)));
  const [day = ""] = days;
  context.print(`${context.style.bold(conversation.id)}${days.size === 1 ? context.style.dim(`  ${day}`) : ""}`);
  const hasDays = days.size > 1;
  const cells = rows.map((row) => cellsOf(row, context.style, hasDays));
  for (const [index, line] of tableLines(cells, context).entries()) {
    context.print(line);
    printChange(context, entries[index]);
  }
}

/** Shows what there is from a revision on, and then what comes, each at once; ends when it is interrupted. */
async function followTimeline(
  context: CliContext,
  store: TurnlogStore,
  conversation: Conversation,
  { from, isPatched }: Shown,
): Promise<ExitCode> {
  const { signal } = context;
  const stream = conversationStream(conversation.id);
  const interrupted = new Promise<void>((resolve) => {
    signal.addEventListener("abort", () => {
      resolve();
    });
  });
  const before = await readBefore(store, conversation, isPatched);
  for await (const entry of entriesOf(readEach(store.events, followEnvelopes(store.events, stream, signal)), before)) {
    const { row } = entry;
    if (row.revision < from) continue;
    if (context.isJson) context.printJson({ conversation: conversation.id, event: entryData(entry, isPatched) });
    else {
      for (const line of tableLines([cellsOf(row, context.style, true)], context)) context.print(line);
      printChange(context, entry);
    }
    await Promise.race([context.drained(), interrupted]);
    if (signal.aborted) break;
  }
  return exitCodes.interrupted;
}

type LogStart = { readonly inherited: TimelineView; readonly changes: TurnChanges | null };

async function readBefore(store: TurnlogStore, conversation: Conversation, isPatched: boolean): Promise<LogStart> {
  const inherited = await readInherited(conversation);
  return { inherited, changes: isPatched ? await TurnChanges.of(store, conversation) : null };
}

/** A fork's events name blocks that its ancestors made. */
async function readInherited(conversation: Conversation): Promise<TimelineView> {
  const stream = conversationStream(conversation.id);
  let view = timeline.initial(stream);
  try {
    for await (const recorded of conversation.history(0)) {
      if (recorded.stream !== stream) view = timeline.apply(view, recorded);
    }
  } catch (error) {
    // What is damaged there takes labels away, and nothing else.
    if (!(error instanceof ConversationDamagedError)) throw error;
  }
  return view;
}

async function* entriesOf(
  readings: AsyncIterable<EventReading>,
  { inherited, changes }: LogStart,
): AsyncIterable<LogEntry> {
  let view = inherited;
  for await (const reading of readings) {
    if (reading.isRead) view = timeline.apply(view, reading.recorded);
    const row = reading.isRead ? view.rows.at(-1) : unreadable(reading);
    const change = reading.isRead ? (changes?.take(reading.recorded) ?? null) : null;
    if (row !== undefined) yield { row: { problem: null, ...row }, change };
  }
}

/** What one event changed, it changed under its own name; the engine hands on what tools said. */
const changersOf = ({ actor }: LogRow): Changers => changedBy(actor?.kind === "engine" ? null : actor);

function entryData({ row, change }: LogEntry, isPatched: boolean) {
  if (!isPatched) return row;
  return { ...row, changes: change === null ? null : differenceData(change.difference, change, changersOf(row)) };
}

function printChange({ print, style }: CliContext, entry: LogEntry | undefined): void {
  if (entry === undefined || entry.change === null) return;
  for (const line of differenceLines(entry.change.difference, changersOf(entry.row), style)) print(`      ${line}`);
}

function unreadable({ envelope, error }: Extract<EventReading, { readonly isRead: false }>): LogRow {
  const { stream, revision, at, type, runId = null, frame = null } = envelope;
  const actor = isActor(envelope.actor) ? envelope.actor : null;
  const problem = excerpt(error.message, 160);
  return { stream, revision, at, actor, type, runId, frame, words: `${excerpt(type, 40)} cannot be read`, problem };
}

function cellsOf(row: LogRow, style: Style, hasDays: boolean): readonly Cell[] {
  const { revision, at, actor, type, words, problem } = row;
  const isBad = problem !== null || type === "RunFailed" || type === "InferenceFailed" || type === "AnchorInvalidated";
  const isNotable = type === "TurnEdited" || /^asked.* (rebased|full)/.test(words);
  const styled = isBad ? style.bad : isNotable ? style.warn : (text: string): string => text;
  return [
    { text: String(revision).padStart(4), style: style.bold },
    { text: hasDays ? at.slice(0, 19).replace("T", " ") : at.slice(11, 23), style: style.dim },
    { text: actor === null ? "?" : actorLabel(actor), style: style.dim },
    { text: problem === null ? words : `${words}: ${problem}`, style: styled },
  ];
}
