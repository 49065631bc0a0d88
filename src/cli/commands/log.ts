import { type Actor, isActor } from "../../domain/actor.ts";
import { conversationStream } from "../../domain/ids.ts";
import type { Conversation } from "../../engine/conversation.ts";
import { type EventReading, followEach, readEach } from "../../engine/read-each.ts";
import type { TurnlogStore } from "../../engine/turnlog-store.ts";
import { ConversationDamagedError } from "../../projections/damage.ts";
import { type TimelineRow, type TimelineView, timeline } from "../../projections/timeline.ts";
import { actorLabel, excerpt } from "../../projections/wording.ts";
import type { CliContext, CommandHandler } from "../context.ts";
import { type ExitCode, exitCodes, UsageError } from "../exit-codes.ts";
import { findConversation, findRevision } from "../find.ts";
import { flag } from "../options.ts";
import { printTranscript } from "../printed-transcript.ts";
import { firstRevision, lastRevision, parsePlace } from "../revision.ts";
import type { Style } from "../style.ts";
import { type Cell, tableLines } from "../table.ts";

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
  if (flag(options, "follow")) {
    if (at.type === "range" || flag(options, "transcript"))
      throw new UsageError("--follow shows events from one revision on: no range and no --transcript");
    return await followTimeline(context, store, conversation, at.type === "one" ? range.from : 0);
  }
  if (flag(options, "transcript")) await printTranscript(context, store, conversation, range);
  else await printTimeline(context, store, conversation, range);
  return exitCodes.ok;
};

type Range = { readonly from: number; readonly to: number };

/** A row of the timeline, or of an event that cannot be read and is shown all the same. */
type LogRow = Omit<TimelineRow, "type" | "actor"> & {
  readonly type: string;
  /** Null where it cannot be read either. */
  readonly actor: Actor | null;
  readonly problem: string | null;
};

async function printTimeline(
  context: CliContext,
  store: TurnlogStore,
  conversation: Conversation,
  { from, to }: Range,
): Promise<void> {
  const stream = conversationStream(conversation.id);
  const rows: LogRow[] = [];
  for await (const row of rowsOf(readEach(store.events, stream), await readInherited(conversation))) {
    if (row.revision > to) break;
    if (row.revision >= from) rows.push(row);
  }
  if (context.isJson) {
    context.printJson({ conversation: conversation.id, events: rows });
    return;
  }
  const days = new Set(rows.map(({ at }) => at.slice(0, 10)));
  const [day = ""] = days;
  context.print(`${context.style.bold(conversation.id)}${days.size === 1 ? context.style.dim(`  ${day}`) : ""}`);
  const hasDays = days.size > 1;
  const cells = rows.map((row) => cellsOf(row, context.style, hasDays));
  for (const line of tableLines(cells, context)) context.print(line);
}

/** Shows what there is from a revision on, and then what comes, each at once; ends when it is interrupted. */
async function followTimeline(
  context: CliContext,
  store: TurnlogStore,
  conversation: Conversation,
  from: number,
): Promise<ExitCode> {
  const { signal } = context;
  const stream = conversationStream(conversation.id);
  const interrupted = new Promise<void>((resolve) => {
    signal.addEventListener("abort", () => {
      resolve();
    });
  });
  for await (const row of rowsOf(followEach(store.events, stream, signal), await readInherited(conversation))) {
    if (row.revision < from) continue;
    if (context.isJson) context.printJson({ conversation: conversation.id, event: row });
    else for (const line of tableLines([cellsOf(row, context.style, true)], context)) context.print(line);
    await Promise.race([context.drained(), interrupted]);
    if (signal.aborted) break;
  }
  return exitCodes.interrupted;
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

async function* rowsOf(readings: AsyncIterable<EventReading>, inherited: TimelineView): AsyncIterable<LogRow> {
  let view = inherited;
  for await (const reading of readings) {
    if (reading.isRead) view = timeline.apply(view, reading.recorded);
    const row = reading.isRead ? view.rows.at(-1) : unreadable(reading);
    if (row !== undefined) yield { problem: null, ...row };
  }
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
