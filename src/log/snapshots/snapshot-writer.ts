import type { RecordedEvent } from "../../domain/events/recorded.ts";
import type { StreamRevision } from "../../projections/server-contexts.ts";
import type { ConversationFold } from "../fold/conversation-fold.ts";
import type { Head } from "../ports/event-store.ts";
import type { SnapshotStore } from "../ports/snapshot-store.ts";
import { type Chunk, type ChunkRef, chunksOf, chunkText, cutTurn, notePlaces, refOf } from "./chunks.ts";
import { listKey, snapshotKey, snapshotListName } from "./lists.ts";
import type { SavedNames } from "./names.ts";
import type { RestoredFold } from "./restore.ts";
import { factsText, hasFacts, noFacts, noteFacts, noteInherited } from "./server-context-rows.ts";
import { type SnapshotData, snapshotText } from "./snapshot.ts";

/** How much work a fold may be from the nearest snapshot (rule: One append before each effect); a run that is open by then has its end waited for. */
export type SnapshotWork = { readonly events: number; readonly edits: number };
const dueWork: SnapshotWork = { events: 512, edits: 5_000 };

/**
 * Takes snapshots of a fold as it goes, by work done since the last one. Snapshots are best effort: one that cannot be saved is
 * tried again when the next one is due, and until then opening takes longer.
 */
export class SnapshotWriter {
  readonly #store: SnapshotStore;
  readonly #fold: ConversationFold;
  readonly #names: SavedNames;
  readonly #due: SnapshotWork;
  /** Those of the last snapshot; taken apart only when another is taken. */
  #chunks: () => readonly Chunk[] = () => [];
  #facts = noFacts(null, { known: 0, unanswered: 0 });
  /** How many lists of names the facts tell. */
  #knownLists = 0;
  #work = { events: 0, edits: 0 };
  #unsaved: Unsaved[] = [];
  /** Whether one was taken since the store was last asked to keep them. */
  #isDue = false;
  /** The newest one that the store has: the next shares its lists. */
  #base: StreamRevision | null;

  /** @param last - The snapshot that the fold begins with: the next one shares its lists. */
  constructor(
    store: SnapshotStore,
    { fold, names }: RestoredFold,
    last: SnapshotData | null,
    due: SnapshotWork = dueWork,
  ) {
    this.#store = store;
    this.#fold = fold;
    this.#names = names;
    this.#due = due;
    const { view } = fold;
    this.#base = fold.base;
    if (last !== null) {
      const { committed } = view.client;
      this.#chunks = () => chunksOf(committed, last.turn);
      this.#facts = noFacts(last.facts, {
        known: view.server.contexts.length,
        unanswered: view.server.unanswered.size,
      });
      this.#knownLists = names.lists.length;
    } else noteInherited(this.#facts, view.server);
  }

  /** Follows the fold: the event is the one that it has just taken in, of the stream or of an ancestor's. */
  note(recorded: RecordedEvent): void {
    const { event, stream, revision, digest } = recorded;
    const { view } = this.#fold;
    notePlaces(recorded, view.client.run?.turns);
    noteFacts(this.#facts, recorded, view.server);
    this.#work.events += 1;
    if (event.type === "TurnEdited") this.#work.edits += event.data.edits.length;
    const isWorth = this.#work.events >= this.#due.events || this.#work.edits >= this.#due.edits;
    // What a fork inherits is work as well: it has a snapshot of its own where it begins.
    if (isWorth && stream === this.#fold.stream && view.client.run === null && view.server.open.size === 0)
      this.#take({ revision, digest });
  }

  /**
   * Writes what was taken since it was last called. False when somebody deleted the snapshot that the next one shares lists with:
   * only a fold of all events can write those again.
   */
  async save(): Promise<boolean> {
    if (!this.#isDue) return true;
    this.#isDue = false;
    const unsaved = this.#unsaved;
    const { stream } = this.#fold;
    try {
      if (!(await this.#isBaseThere())) return false;
      for (const { head, data, textByName } of unsaved) {
        for (const [name, text] of textByName) {
          await this.#store.put(listKey({ stream, name }), { revision: 0, data: text });
        }
        // Last, so that a snapshot that is there has all that it names.
        const text = snapshotText(data, head.digest);
        await this.#store.put(snapshotKey(stream), { revision: head.revision, data: text });
      }
      this.#names.saved();
      this.#unsaved = [];
      this.#base = { stream, revision: unsaved.at(-1)?.head.revision ?? -1 };
    } catch {
      // Full, locked, closed: readers fold from further back. Later snapshots name these lists, so they are written with the next.
      const textByName = new Map(unsaved.flatMap((each) => [...each.textByName]));
      this.#unsaved = unsaved.slice(-1).map((last) => ({ ...last, textByName }));
    }
    return true;
  }

  async #isBaseThere(): Promise<boolean> {
    if (this.#base === null) return true;
    const { stream, revision } = this.#base;
    return (await this.#store.get(snapshotKey(stream), revision))?.revision === revision;
  }

  #take(head: Head): void {
    this.#work = { events: 0, edits: 0 };
    const { stream, view } = this.#fold;
    const names = this.#names;
    const { committed } = view.client;
    const before = this.#chunks();
    const chunks = cutTurn(committed, before, { stream });
    if (chunks === null) return;
    const rests: Chunk[] = [];
    const newest: SnapshotData["newest"] = [];
    for (const [scope, { context, turn }] of view.newest) {
      const shared = committed.commonPrefixLength(turn);
      const rest = cutTurn(turn, chunks, { stream, from: shared });
      if (rest === null) return;
      rests.push(...rest);
      newest.push({ scope, inferenceId: context.inferenceId, shared, rest: rest.map(refOf) });
    }
    const known = new Set(before.map(({ name }) => name));
    const unknown = [...chunks, ...rests].filter(({ name }) => !known.has(name));
    const textByName = new Map(unknown.map(({ name, blocks }) => [name, chunkText(blocks, stream)]));
    this.#takeNames(textByName);
    this.#facts.names.push(...names.lists.slice(this.#knownLists));
    this.#knownLists = names.lists.length;
    if (hasFacts(this.#facts)) {
      const text = factsText(this.#facts);
      textByName.set(snapshotListName(text), text);
      this.#facts = noFacts(snapshotListName(text), this.#facts);
    }
    this.#isDue = true;
    this.#unsaved.push({ head, data: this.#dataOf(chunks.map(refOf), newest), textByName });
    this.#chunks = () => chunks;
  }

  #takeNames(textByName: Map<string, string>): void {
    const { stream } = this.#fold;
    const names = this.#names;
    const text = names.text(stream);
    if (text === "") return;
    const name = snapshotListName(text);
    textByName.set(name, text);
    names.moveTo({ stream, name }, text);
  }

  #dataOf(turn: ChunkRef[], newest: SnapshotData["newest"]): SnapshotData {
    const { view, lastAt, ancestors, skipped } = this.#fold;
    const { origin, title, labels, spent, client, server } = view;
    const { answeredBy, cameBackTo, answeredLength, interrupted } = client.answers;
    return {
      ...{ turn, newest, facts: this.#facts.before, title, labels, spent, origin, lastAt },
      ...{ answeredBy, cameBackTo, answeredLength, interrupted, lostScopes: [...server.lostScopes] },
      ...{ ancestors: [...ancestors], skipped: [...skipped] },
    };
  }
}

type Unsaved = {
  /** The event after which it was taken. */
  readonly head: Head;
  readonly data: SnapshotData;
  readonly textByName: ReadonlyMap<string, string>;
};
