import { namesIn } from "../../domain/decider/names.ts";
import type { RecordedEvent } from "../../domain/events/recorded.ts";
import type { AnswersView, CompletedRun } from "../../projections/client-turn/answers.ts";
import type { ConversationView } from "../../projections/views/conversation-view.ts";
import type { NameEntry } from "../aggregate/names.ts";
import { firstLetters, keyOfName, type NameList, readNames } from "./names.ts";

/**
 * Compares the lists of names of every snapshot with the names in the events. Each list is compared once: consecutive snapshots share
 * all lists but the newest.
 */
export class NamesCheck {
  /** By key: of a Turn the newest entry, of all other kinds the first, as a look-up returns them. */
  readonly #expected = new Map<string, NameEntry>();
  readonly #turns = new Set<string>();
  /** Keys in the order in which they were added or changed. */
  readonly #given: string[] = [];
  #answered: Iterator<readonly [name: string, run: CompletedRun]> | undefined;
  #answeredCount = 0;
  /** The content of the lists of the snapshot before. */
  #listed = nothingListed();

  /** The next event, and the view after it was applied. */
  take({ event, stream, revision, runId }: RecordedEvent, { client }: ConversationView): void {
    for (const name of namesIn(event, runId)) this.#expectFirst(keyOfName(...name), { stream, numbers: [revision] });
    this.#takeAnswered(client.answers);
    const { digest } = client.committed;
    const run = client.answers.byTurn.get(digest);
    if (run === undefined) return;
    const [key, entry] = [keyOfName("turn", digest), entryOfRun(run)];
    if (isSame(this.#expected.get(key), entry)) return;
    this.#turns.add(key);
    this.#expected.set(key, entry);
    this.#given.push(key);
  }

  /** How the lists of a snapshot differ from the events up to it; null if they are right. */
  async problem(lists: readonly NameList[], read: ReadList): Promise<string | null> {
    const isLonger = this.#listed.lists.every(
      ({ name, letters }, n) => lists[n]?.name === name && lists[n].letters === letters,
    );
    if (!isLonger) this.#listed = nothingListed();
    const { lists: known, first, last } = this.#listed;
    const touched = new Set(this.#given.slice(this.#listed.given));
    for (const list of lists.slice(known.length)) {
      const text = await read(list);
      if (text === undefined) return `the list ${list.name} is not there`;
      const entries = readNames(text, list.stream);
      if (firstLetters(entries.map(([key]) => key)) !== list.letters) return "a list of ids is not said to have them";
      for (const [key, entry] of entries) {
        if (!first.has(key)) first.set(key, entry);
        last.set(key, entry);
        touched.add(key);
      }
      known.push(list);
    }
    this.#listed.given = this.#given.length;
    for (const key of touched) {
      const told = (this.#turns.has(key) ? last : first).get(key);
      const expected = this.#expected.get(key);
      if (expected === undefined) return "it knows ids that nothing has";
      if (!isSame(told, expected)) return "its ids are others";
    }
    return null;
  }

  #expectFirst(key: string, entry: NameEntry): void {
    if (this.#expected.has(key)) return;
    this.#expected.set(key, entry);
    this.#given.push(key);
  }

  /** Answered blocks are only ever added: takes those added since the last event. */
  #takeAnswered({ byBlock }: AnswersView): void {
    this.#answered ??= byBlock.entries?.();
    for (; this.#answeredCount < (byBlock.size ?? 0); this.#answeredCount += 1) {
      const next = this.#answered?.next();
      if (next?.done !== false) return;
      const [id, run] = next.value;
      this.#expectFirst(keyOfName("answer", id), entryOfRun(run));
    }
  }
}

type ReadList = (list: NameList) => Promise<string | undefined>;

const nothingListed = () => ({
  lists: [] as NameList[],
  /** How many expected names were already looked up in them. */
  given: 0,
  first: new Map<string, NameEntry>(),
  last: new Map<string, NameEntry>(),
});

const isSame = (one: NameEntry | undefined, other: NameEntry): boolean =>
  one?.stream === other.stream &&
  one.numbers.length === other.numbers.length &&
  one.numbers.every((number, index) => number === other.numbers[index]);

const entryOfRun = ({ stream, from, to, brought }: CompletedRun): NameEntry => ({
  stream,
  numbers: [from, to, brought],
});
