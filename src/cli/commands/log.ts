import type { Conversation } from "../../conversation/conversation.ts";
import type { TurnlogStore } from "../../conversation/turnlog-store.ts";
import { isActor } from "../../domain/actor.ts";
import { conversationStream } from "../../domain/ids.ts";
import { followEnvelopes, tryToRead } from "../../log/codec/recorded.ts";
import type { StoredEnvelope } from "../../log/ports/event-store.ts";
import { ConversationDamagedError } from "../../projections/damage.ts";
import { type TimelineView, timeline } from "../../projections/timeline.ts";
import { actorLabel, excerpt } from "../../projections/wording.ts";
import { dateAndTime } from "../block-rows.ts";
import { type CommandInput, commandCode, type Documents } from "../command.ts";
import type { CliContext, Screen } from "../context.ts";
import { changedBy, differenceLines, differenceOf } from "../difference.ts";
import { type LoggedEvent, logDocument } from "../documents/conversations.ts";
import { exitCodes, UsageError } from "../exit-codes.ts";
import { findConversation, findRevision } from "../find.ts";
import { firstRevision, lastRevision, parsePlace, type RevisionPlace } from "../revision.ts";
import { type Cell, type Style, tableLines } from "../screen.ts";
import { renderTranscript, transcriptOf } from "../transcript.ts";
import { TurnChanges } from "../turn-changes.ts";

type Options = { readonly patch?: boolean; readonly transcript?: boolean; readonly follow?: boolean };

/** What happened in a conversation, or what was said in it. */
export const log = commandCode({
  document: logDocument,

  async *run(context, { arguments: [text = ""], options }: CommandInput<Options>) {
    await using store = await context.openStore({ mustExist: true });
    const { conversation: name, at } = parsePlace(text);
    const conversation = await findConversation(store, name);
    const range = await findRange(store, conversation, at);
    if (range.from > range.to)
      throw new UsageError(`the start must not be after the end: '${text}' goes from ${range.from} to ${range.to}`);
    const { patch: isPatched = false } = options;
    const asked = { store, conversation, isPatched };
    if (options.follow === true) {
      if (at.type === "range") throw new UsageError("--follow shows events from one revision on: name no range");
      return yield* follow(context, { ...asked, from: at.type === "one" ? range.from : 0 });
    }
    if (options.transcript === true) {
      yield await transcriptOf(context, store, conversation, range);
      return;
    }
    const before = await readBefore(asked);
    const events: LoggedEvent[] = [];
    const envelopes = store.events.readStream(conversationStream(conversation.id), { limit: range.to + 1 });
    for await (const event of eventsOf(asked, envelopes, before)) {
      if (event.revision >= range.from) events.push(event);
    }
    if (before.changes?.isLost === true)
      context.note("what events changed is unknown from the first damaged one on: `turnlog verify` names it");
    yield { conversation: conversation.id, events };
  },

  render(document, screen) {
    if ("utterances" in document) renderTranscript(document, screen);
    else if ("event" in document) renderEvents([document.event], true, screen);
    else {
      const { style, print } = screen;
      const [day = "", ...others] = new Set(document.events.map(({ at }) => at.slice(0, 10)));
      const isOneDay = day !== "" && others.length === 0;
      print(`${style.bold(document.conversation)}${isOneDay ? style.dim(`  ${day}`) : ""}`);
      renderEvents(document.events, !isOneDay, screen);
    }
  },
});

async function findRange(store: TurnlogStore, conversation: Conversation, at: RevisionPlace["at"]) {
  const [from, to] =
    at.type === "range"
      ? [at.from, at.to]
      : at.type === "one"
        ? [at.revision, at.revision]
        : [firstRevision, lastRevision];
  return {
    from: await findRevision(store, conversation, from),
    to: await findRevision(store, conversation, to),
  };
}

type Asked = {
  readonly store: TurnlogStore;
  readonly conversation: Conversation;
  /** Whether every event comes with what it changed. */
  readonly isPatched: boolean;
};

/** Shows what there is from a revision on, and then what comes, each at once; ends when it is interrupted. */
async function* follow(
  { signal, drained }: CliContext,
  { from, ...asked }: Asked & { readonly from: number },
): Documents<{ readonly conversation: Conversation["id"]; readonly event: LoggedEvent }> {
  const { store, conversation } = asked;
  const interrupted = new Promise<void>((resolve) => {
    signal.addEventListener("abort", () => {
      resolve();
    });
  });
  const before = await readBefore(asked);
  const envelopes = followEnvelopes(store.events, conversationStream(conversation.id), { signal });
  for await (const event of eventsOf(asked, envelopes, before)) {
    if (event.revision < from) continue;
    yield { conversation: conversation.id, event };
    await Promise.race([drained(), interrupted]);
    if (signal.aborted) break;
  }
  return exitCodes.interrupted;
}

type LogStart = { readonly inherited: TimelineView; readonly changes: TurnChanges | null };

async function readBefore({ store, conversation, isPatched }: Asked): Promise<LogStart> {
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

async function* eventsOf(
  { store }: Asked,
  envelopes: AsyncIterable<StoredEnvelope>,
  { inherited, changes }: LogStart,
): AsyncIterable<LoggedEvent> {
  let view = inherited;
  for await (const envelope of envelopes) {
    const recorded = await tryToRead(store.events, envelope);
    if (recorded instanceof Error) {
      yield { ...unreadable(envelope, recorded), ...(changes === null ? {} : { changes: null }) };
      continue;
    }
    view = timeline.apply(view, recorded);
    const row = view.rows.at(-1);
    if (row === undefined) continue;
    const change = changes?.take(recorded) ?? null;
    // What one event changed, it changed under its own name; the engine hands on what tools said.
    const changers = changedBy(row.actor.kind === "engine" ? null : row.actor);
    const told = change === null ? null : differenceOf(change.difference, change, changers);
    yield { problem: null, ...row, ...(changes === null ? {} : { changes: told }) };
  }
}

function unreadable(envelope: StoredEnvelope, error: Error): LoggedEvent {
  const { stream, revision, at, type, runId = null, frame = null } = envelope;
  const actor = isActor(envelope.actor) ? envelope.actor : null;
  const problem = excerpt(error.message, 160);
  return { stream, revision, at, actor, type, runId, frame, words: `${excerpt(type, 40)} cannot be read`, problem };
}

function renderEvents(events: readonly LoggedEvent[], hasDays: boolean, { style, columns, print }: Screen): void {
  const rows = events.map((event) => cellsOf(event, style, hasDays));
  for (const [index, line] of tableLines(rows, { columns }).entries()) {
    const changes = events[index]?.changes ?? null;
    print(line, ...(changes === null ? [] : differenceLines(changes, style).map((each) => `      ${each}`)));
  }
}

function cellsOf(event: LoggedEvent, style: Style, hasDays: boolean): readonly Cell[] {
  const { revision, at, actor, type, words, problem } = event;
  const isBad = problem !== null || type === "RunFailed" || type === "InferenceFailed" || type === "AnchorInvalidated";
  const isNotable = type === "TurnEdited" || /^asked.* (rebased|full)/.test(words);
  const styled = isBad ? style.bad : isNotable ? style.warn : (text: string): string => text;
  return [
    { text: String(revision).padStart(4), style: style.bold },
    { text: hasDays ? dateAndTime(at) : at.slice(11, 23), style: style.dim },
    { text: actor === null ? "?" : actorLabel(actor), style: style.dim },
    { text: problem === null ? words : `${words}: ${problem}`, style: styled },
  ];
}
