import { actorLabel } from "../../../analysis/descriptions/labels.ts";
import { type WalkedEvent, Walker } from "../../../analysis/explain/walk.ts";
import type { Conversation } from "../../../conversation/conversation.ts";
import type { TurnlogStore } from "../../../conversation/turnlog-store.ts";
import { conversationStream } from "../../../domain/ids.ts";
import { followEnvelopes } from "../../../log/codec/recorded.ts";
import { type LoggedEvent, logDocument } from "../../documents/conversations.ts";
import { differenceDocumentOf } from "../../documents/turn-documents.ts";
import { type CommandInput, commandCode, type Documents } from "../command.ts";
import type { CliContext, Screen } from "../context.ts";
import { differenceLines } from "../difference.ts";
import { eventFilter, type FilteredEvent, type FilterOptions } from "../event-filter.ts";
import { exitCodes, UsageError } from "../exit-codes.ts";
import { findConversation, findRevision } from "../find.ts";
import { firstRevisionName, lastRevision, parsePlace, type RevisionPlace } from "../revision.ts";
import { type Cell, type Style, tableLines } from "../screen.ts";
import { dateAndTime, timeOfDay } from "../shown-time.ts";
import { renderTranscript, transcriptOf } from "../transcript.ts";

type Options = FilterOptions & {
  readonly limit?: number;
  readonly reverse?: boolean;
  readonly patch?: boolean;
  readonly transcript?: boolean;
  readonly follow?: boolean;
};

/** The number of past events that `--follow` shows first, as in `tail -f`. */
const shownBefore = 10;

/** The events of a conversation, or what was said in it. */
export const log = commandCode({
  document: logDocument,

  async *run(context, { arguments: [text = ""], options }: CommandInput<Options>) {
    const isWanted = eventFilter(options);
    await using store = await context.openStore("read");
    const { conversation: name, at } = parsePlace(text);
    const conversation = await findConversation(store, name);
    const range = await findRange(store, conversation, at);
    if (range.from > range.to)
      throw new UsageError(`the start must not be after the end: '${text}' goes from ${range.from} to ${range.to}`);
    const { limit = 0, reverse: isReversed = false, patch: isPatched = false } = options;
    const inOrder = <Item>(items: readonly Item[]): readonly Item[] => (isReversed ? items.toReversed() : items);
    if (options.transcript === true) {
      const { utterances, ...about } = await transcriptOf(context, store, conversation, range);
      const said = utterances.filter(({ text: words, ...rest }) => isWanted({ ...rest, words, data: null }));
      yield { ...about, utterances: inOrder(said.slice(-limit)) };
      return;
    }
    const parts = { changes: isPatched, bodies: null };
    const walker = await Walker.start(store.log, conversationStream(conversation.id), parts);
    const asked: Asked = { store, conversation, walker, isPatched, isWanted };
    if (options.follow === true) {
      if (at.type === "range") throw new UsageError("--follow cannot go with a range: name the revision to start at");
      const before = options.limit ?? (at.type === "one" ? 0 : shownBefore);
      return yield* follow(context, { ...asked, from: at.type === "one" ? range.from : 0, before });
    }
    const events = new Newest<LoggedEvent>(limit);
    for await (const envelope of store.events.readStream(conversationStream(conversation.id), {
      limit: range.to + 1,
    })) {
      const { logged, seen } = told(await walker.take(envelope), isPatched);
      if (logged.revision >= range.from && isWanted(seen)) events.add(logged);
    }
    if (isPatched && walker.isLost)
      context.note("what events changed is unknown from the first damaged event on: `turnlog verify` names it");
    if (events.items.length === 0) context.note(`no event of ${conversation.id} matches`);
    yield { conversation: conversation.id, events: inOrder(events.items) };
  },

  render(document, screen) {
    if ("utterances" in document) renderTranscript(document, screen);
    else if ("event" in document) renderEvents([document.event], true, screen);
    else {
      const { style, print } = screen;
      const [day = "", ...others] = new Set(document.events.map(({ at }) => dateAndTime(at, "day")));
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
        : [firstRevisionName, lastRevision];
  return {
    from: await findRevision(store, conversation, from),
    to: await findRevision(store, conversation, to),
  };
}

type Asked = {
  readonly store: TurnlogStore;
  readonly conversation: Conversation;
  readonly walker: Walker;
  /** Whether every event has its changes. */
  readonly isPatched: boolean;
  readonly isWanted: ReturnType<typeof eventFilter>;
};

/** An event as the log shows it, and the part that a filter reads. */
function told(walked: WalkedEvent, isPatched: boolean): { readonly logged: LoggedEvent; readonly seen: FilteredEvent } {
  const { changes, event, request: _, ...rest } = walked;
  const logged = isPatched ? { ...rest, changes: changes && differenceDocumentOf(changes) } : rest;
  return { logged, seen: { ...rest, data: event?.data ?? null } };
}

/** Shows the newest events, and then each new one at once; ends when it is interrupted. */
async function* follow(
  { signal, drained }: CliContext,
  {
    store,
    conversation,
    walker,
    isPatched,
    isWanted,
    from,
    before,
  }: Asked & { readonly from: number; readonly before: number },
): Documents<{ readonly conversation: Conversation["id"]; readonly event: LoggedEvent }> {
  const stream = conversationStream(conversation.id);
  const interrupted = new Promise<void>((resolve) => {
    signal.addEventListener("abort", () => {
      resolve();
    });
  });
  const head = (await store.events.head(stream))?.revision ?? -1;
  const newest = new Newest<LoggedEvent>(before);
  for await (const envelope of followEnvelopes(store.events, stream, { signal })) {
    const { logged: event, seen } = told(await walker.take(envelope), isPatched);
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

/** Keeps the newest of the added items: as many as the limit, or all. */
class Newest<Item> {
  readonly #limit: number;
  readonly #items: Item[] = [];

  /** @param limit - 0 keeps all. */
  constructor(limit: number) {
    this.#limit = limit === 0 ? Number.POSITIVE_INFINITY : limit;
  }

  add(item: Item): void {
    this.#items.push(item);
    // Only now and then, because removing from the front of a list is slow.
    if (this.#items.length >= this.#limit * 2) this.#items.splice(0, this.#items.length - this.#limit);
  }

  /** Oldest first. */
  get items(): readonly Item[] {
    return Number.isFinite(this.#limit) ? this.#items.slice(-this.#limit) : this.#items;
  }
}

function renderEvents(events: readonly LoggedEvent[], hasDays: boolean, { style, columns, print }: Screen): void {
  const rows = events.map((event) => cellsOf(event, style, hasDays));
  for (const [index, line] of tableLines(rows, { columns }).entries()) {
    const changes = events[index]?.changes ?? null;
    print(line, ...(changes === null ? [] : differenceLines(changes, style).map((each) => `      ${each}`)));
  }
}

function cellsOf(event: LoggedEvent, style: Style, hasDays: boolean): readonly Cell[] {
  const { revision, at, actor, type, words, problem, skipped } = event;
  const isFailure = type === "RunFailed" || type === "InferenceFailed" || type === "AnchorInvalidated";
  const isBad = problem !== null || (isFailure && skipped === null);
  const isNotable = skipped !== null || type === "TurnEdited" || /^asked.* (rebased|full)/.test(words);
  const styled = isBad ? style.bad : isNotable ? style.warn : (text: string): string => text;
  return [
    { text: String(revision).padStart(4), style: style.bold },
    { text: hasDays ? dateAndTime(at) : timeOfDay(at), style: style.dim },
    { text: actor === null ? "?" : actorLabel(actor), style: style.dim },
    { text: problem === null ? words : `${words}: ${problem}`, style: styled },
  ];
}
