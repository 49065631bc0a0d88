import type { Conversation } from "../../conversation/conversation.ts";
import type { TurnlogStore } from "../../conversation/turnlog-store.ts";
import { conversationStream } from "../../domain/ids.ts";
import { followEnvelopes } from "../../log/codec/recorded.ts";
import { actorLabel } from "../../projections/wording.ts";
import { dateAndTime } from "../block-rows.ts";
import { type CommandInput, commandCode, type Documents } from "../command.ts";
import type { CliContext, Screen } from "../context.ts";
import { differenceLines } from "../difference.ts";
import { type LoggedEvent, logDocument } from "../documents/conversations.ts";
import { eventFilter, type FilterOptions } from "../event-filter.ts";
import { exitCodes, UsageError } from "../exit-codes.ts";
import { findConversation, findRevision } from "../find.ts";
import { EventTeller } from "../logged-events.ts";
import { Newest } from "../newest.ts";
import { firstRevision, lastRevision, parsePlace, type RevisionPlace } from "../revision.ts";
import { type Cell, type Style, tableLines } from "../screen.ts";
import { renderTranscript, transcriptOf } from "../transcript.ts";

type Options = FilterOptions & {
  readonly limit?: number;
  readonly reverse?: boolean;
  readonly patch?: boolean;
  readonly transcript?: boolean;
  readonly follow?: boolean;
};

/** How many events come before those that are followed, as of `tail -f`. */
const shownBefore = 10;

/** What happened in a conversation, or what was said in it. */
export const log = commandCode({
  document: logDocument,

  async *run(context, { arguments: [text = ""], options }: CommandInput<Options>) {
    const isWanted = eventFilter(options);
    await using store = await context.openStore({ mustExist: true });
    const { conversation: name, at } = parsePlace(text);
    const conversation = await findConversation(store, name);
    const range = await findRange(store, conversation, at);
    if (range.from > range.to)
      throw new UsageError(`the start must not be after the end: '${text}' goes from ${range.from} to ${range.to}`);
    const { limit = 0, reverse: isReversed = false, patch: isPatched = false } = options;
    const asked: Asked = { store, conversation, isPatched, isWanted };
    if (options.follow === true) {
      if (at.type === "range") throw new UsageError("--follow shows events from one revision on: name no range");
      const before = options.limit ?? (at.type === "one" ? 0 : shownBefore);
      return yield* follow(context, { ...asked, from: at.type === "one" ? range.from : 0, before });
    }
    const inOrder = <Item>(items: readonly Item[]): readonly Item[] => (isReversed ? items.toReversed() : items);
    if (options.transcript === true) {
      const { utterances, ...about } = await transcriptOf(context, store, conversation, range);
      const said = utterances.filter(({ text: words, ...rest }) => isWanted({ ...rest, words, data: null }));
      yield { ...about, utterances: inOrder(said.slice(-limit)) };
      return;
    }
    const teller = await EventTeller.of(asked);
    const events = new Newest<LoggedEvent>(limit);
    for await (const envelope of store.events.readStream(conversationStream(conversation.id), {
      limit: range.to + 1,
    })) {
      const { told, seen } = await teller.tell(envelope);
      if (told.revision >= range.from && isWanted(seen)) events.add(told);
    }
    if (teller.isLost)
      context.note("what events changed is unknown from the first damaged one on: `turnlog verify` names it");
    if (events.items.length === 0) context.note(`no event of ${conversation.id} is of that kind`);
    yield { conversation: conversation.id, events: inOrder(events.items) };
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
  readonly isPatched: boolean;
  readonly isWanted: ReturnType<typeof eventFilter>;
};

/** Shows the newest of what there is, and then what comes, each at once; ends when it is interrupted. */
async function* follow(
  { signal, drained }: CliContext,
  { from, before, isWanted, ...asked }: Asked & { readonly from: number; readonly before: number },
): Documents<{ readonly conversation: Conversation["id"]; readonly event: LoggedEvent }> {
  const { store, conversation } = asked;
  const stream = conversationStream(conversation.id);
  const interrupted = new Promise<void>((resolve) => {
    signal.addEventListener("abort", () => {
      resolve();
    });
  });
  const teller = await EventTeller.of(asked);
  const head = (await store.events.head(stream))?.revision ?? -1;
  const newest = new Newest<LoggedEvent>(before);
  for await (const envelope of followEnvelopes(store.events, stream, { signal })) {
    const { told: event, seen } = await teller.tell(envelope);
    const isShown = event.revision >= from && isWanted(seen);
    if (isShown && event.revision <= head) newest.add(event);
    const due = event.revision < head ? [] : event.revision === head ? newest.items : isShown ? [event] : [];
    for (const each of due) {
      yield { conversation: conversation.id, event: each };
      await Promise.race([drained(), interrupted]);
      if (signal.aborted) return exitCodes.interrupted;
    }
  }
  return exitCodes.interrupted;
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
