import { describeActor } from "../../domain/actor.ts";
import { conversationStream } from "../../domain/ids.ts";
import type { Conversation } from "../../engine/conversation.ts";
import { type EventReading, readEach } from "../../engine/read-each.ts";
import type { TurnlogStore } from "../../engine/turnlog-store.ts";
import { type TimelineRow, timeline } from "../../projections/timeline.ts";
import { transcript, type Utterance } from "../../projections/transcript.ts";
import { actorLabel, excerpt, printable } from "../../projections/wording.ts";
import type { CliContext, CommandHandler } from "../context.ts";
import { findConversation, findRevision } from "../find.ts";
import { flag } from "../options.ts";
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
  if (flag(options, "transcript")) await printTranscript(context, conversation, range);
  else await printTimeline(context, store, conversation, range);
};

type Range = { readonly from: number; readonly to: number };

/** A row of the timeline, or of an event that cannot be read and is shown all the same. */
type LogRow = Omit<TimelineRow, "type"> & { readonly type: string; readonly problem: string | null };

async function printTimeline(
  context: CliContext,
  store: TurnlogStore,
  conversation: Conversation,
  { from, to }: Range,
): Promise<void> {
  const stream = conversationStream(conversation.id);
  let view = timeline.initial(stream);
  const rows: LogRow[] = [];
  for await (const reading of readEach(store.events, stream)) {
    if (reading.isRead) view = timeline.apply(view, reading.recorded);
    const row = reading.isRead ? view.rows.at(-1) : unreadable(reading);
    if (row === undefined || row.revision > to) break;
    if (row.revision >= from) rows.push({ problem: null, ...row });
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

function unreadable({ envelope, error }: Extract<EventReading, { readonly isRead: false }>): LogRow {
  const { revision, at, actor, type, runId = null, frame = null } = envelope;
  const problem = excerpt(error.message, 160);
  return { revision, at, actor, type, runId, frame, words: `${excerpt(type, 40)} cannot be read`, problem };
}

function cellsOf(row: LogRow, style: Style, hasDays: boolean): readonly Cell[] {
  const { revision, at, actor, type, words, problem } = row;
  const isBad = problem !== null || type === "RunFailed" || type === "InferenceFailed" || type === "AnchorInvalidated";
  const isNotable = type === "TurnEdited" || /^asked.* (rebased|full)/.test(words);
  const styled = isBad ? style.bad : isNotable ? style.warn : (text: string): string => text;
  return [
    { text: String(revision).padStart(4), style: style.bold },
    { text: hasDays ? at.slice(0, 19).replace("T", " ") : at.slice(11, 23), style: style.dim },
    { text: actorLabel(actor), style: style.dim },
    { text: problem === null ? words : `${words}: ${problem}`, style: styled },
  ];
}

async function printTranscript(context: CliContext, conversation: Conversation, { from, to }: Range): Promise<void> {
  let view = transcript.initial(conversation.id);
  for await (const recorded of conversation.events()) {
    if (recorded.revision > to) break;
    view = transcript.apply(view, recorded);
  }
  const utterances = view.utterances.filter(({ revision }) => revision >= from);
  if (context.isJson) {
    context.printJson({ conversation: conversation.id, utterances });
    return;
  }
  context.print(context.style.bold(conversation.id));
  for (const utterance of utterances) printUtterance(context, utterance);
}

function printUtterance({ print, style }: CliContext, { revision, kind, name, text, actor }: Utterance): void {
  const who = name === null ? kind : `${kind} ${name}`;
  print(`\n${style.bold(printable(who))} ${style.dim(`@${revision} by ${printable(describeActor(actor))}`)}`);
  print(printable(text));
}
