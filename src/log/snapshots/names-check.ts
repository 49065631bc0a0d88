import { namesIn } from "../../domain/decider/names.ts";
import type { RecordedEvent } from "../../domain/events/recorded.ts";
import type { Completed } from "../../projections/client-turn/answers.ts";
import type { ConversationView } from "../../projections/views/conversation-view.ts";
import { entryOfRun } from "../aggregate/conversation-fold.ts";
import type { NameEntry } from "../aggregate/names.ts";
import { firstLetters, keyOfName, type NameList, readNames } from "./names.ts";

/**
 * Compares the lists of names of every snapshot with the names in the events. Each list is compared once: consecutive snapshots share
 * all lists but the newest.
 */
export class NamesCheck {
  /** By key: of the block that a run ended with the newest entry, of all other kinds the first, as a look-up returns them. */
  readonly #expected = new Map<string, NameEntry>();
  readonly #ends = new Set<string>();
  #completed: Completed | null = null;
  /** Keys in the order in which they were added or changed. */
  readonly #given: string[] = [];
  /** The content of the lists of the snapshot before. */
  #listed = nothingListed();

  /** The next event, and the view after it was applied. */
  take({ event, stream, revision, runId }: RecordedEvent, { client }: ConversationView): void {
    for (const name of namesIn(event, runId)) this.#expectFirst(keyOfName(...name), { stream, numbers: [revision] });
    const { completed } = client.answers;
    if (completed !== null && completed !== this.#completed) this.#takeAnswers(completed);
    this.#completed = completed;
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
      const told = (this.#ends.has(key) ? last : first).get(key);
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

  #takeAnswers({ run, answered, last }: Completed): void {
    const entry = entryOfRun(run);
    for (const id of answered) this.#expectFirst(keyOfName("answer", id), entry);
    if (last === null) return;
    const key = keyOfName("end", last);
    this.#ends.add(key);
    this.#expected.set(key, entry);
    this.#given.push(key);
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
