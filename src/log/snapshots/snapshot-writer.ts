import type { RecordedEvent } from "../../domain/events/recorded.ts";
import type { StreamRevision } from "../../projections/server-contexts/server-contexts.ts";
import { savedAnswers } from "../../projections/views/conversation-view.ts";
import type { ConversationFold } from "../aggregate/conversation-fold.ts";
import type { Head } from "../ports/event-store.ts";
import type { SnapshotStore } from "../ports/snapshot-store.ts";
import { type Chunk, type ChunkRef, chunksOf, chunkText, cutTurn, notePlaces, refOf } from "./chunks.ts";
import { listKey, snapshotKey, snapshotListName } from "./lists.ts";
import type { SavedNames } from "./names.ts";
import type { RestoredFold } from "./restore.ts";
import { factsText, hasFacts, noFacts, noteFacts, noteInherited } from "./server-context-rows.ts";
import { type SnapshotData, snapshotText } from "./snapshot.ts";

/** The most work that a fold may need after the nearest snapshot (rule: One append before each effect). If a run is open, its end comes first. */
export type SnapshotWork = { readonly events: number; readonly edits: number };
const dueWork: SnapshotWork = { events: 512, edits: 5_000 };

/**
 * Takes snapshots of a fold as it proceeds, after enough work since the last one. Snapshots are best effort: one that cannot be saved
 * is tried again when the next one is due; until then opening takes longer.
 */
export class SnapshotWriter {
  readonly #store: SnapshotStore;
  readonly #fold: ConversationFold;
  readonly #names: SavedNames;
  readonly #due: SnapshotWork;
  /** The chunks of the last snapshot; parsed only when another snapshot is taken. */
  #chunks: () => readonly Chunk[] = () => [];
  #facts = noFacts(null, { known: 0, unanswered: 0 });
  /** How many lists of names the facts contain. */
  #knownLists = 0;
  #work = { events: 0, edits: 0 };
  #unsaved: Unsaved[] = [];
  /** Whether a snapshot was taken since the last save. */
  #isDue = false;
  /** The newest snapshot in the store: the next one shares its lists. */
  #base: StreamRevision | null;
  readonly #seen: number;

  /**
   * @param from.last - The snapshot that the fold started from: the next one shares its lists.
   * @param from.seen - The stream's head before its events were read, if the fold does not reach it.
   */
  constructor(
    store: SnapshotStore,
    { fold, names }: RestoredFold,
    { last = null, seen = -1 }: { readonly last?: SnapshotData | null; readonly seen?: number } = {},
    due: SnapshotWork = dueWork,
  ) {
    this.#store = store;
    this.#fold = fold;
    this.#names = names;
    this.#due = due;
    this.#seen = seen;
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

  /** Follows the fold, after it applied this event, of the stream or of an ancestor. */
  note(recorded: RecordedEvent): void {
    const { event, stream, revision, digest } = recorded;
    const { view } = this.#fold;
    notePlaces(recorded, view.client.run?.turns);
    noteFacts(this.#facts, recorded, view.server);
    this.#work.events += 1;
    if (event.type === "TurnEdited") this.#work.edits += event.data.edits.length;
    const isWorth = this.#work.events >= this.#due.events || this.#work.edits >= this.#due.edits;
    // Inherited events count as work, too: a fork gets a snapshot at its beginning.
    if (isWorth && stream === this.#fold.stream && view.client.run === null && view.server.open.size === 0)
      this.#take({ revision, digest });
  }

  /**
   * Writes the snapshots taken since the last call. Returns false if the snapshot that the next one shares lists with was deleted:
   * only a fold of all events can write those lists again.
   */
  async save(): Promise<boolean> {
    if (!this.#isDue) return true;
    this.#isDue = false;
    const unsaved = this.#unsaved;
    const { stream, head: newest } = this.#fold;
    // The fold starts over at an erasure, so up to here it contains nothing that was erased.
    const seen = Math.max(this.#seen, newest?.revision ?? -1);
    try {
      if (!(await this.#isBaseThere())) return false;
      for (const { head, data, textByName } of unsaved) {
        for (const [name, text] of textByName) {
          await this.#store.put(listKey({ stream, name }), { revision: 0, data: text }, seen);
        }
        // Written last, so that a stored snapshot has everything it refers to.
        const text = snapshotText(data, head.digest);
        await this.#store.put(snapshotKey(stream), { revision: head.revision, data: text }, seen);
      }
      this.#names.saved();
      this.#unsaved = [];
      this.#base = { stream, revision: unsaved.at(-1)?.head.revision ?? -1 };
    } catch {
      // Full, locked or closed: readers fold from further back. Later snapshots refer to these lists, so write them with the next one.
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
    for (const [scope, { context, turn }] of savedAnswers(view)) {
      const shared = committed.commonPrefixLength(turn);
      const rest = cutTurn(turn, chunks, { stream, from: shared });
      if (rest === null) return;
      rests.push(...rest);
      const isLatest = view.latest.get(scope)?.context.inferenceId === context.inferenceId;
      newest.push({
        ...{ scope, inferenceId: context.inferenceId, shared, rest: rest.map(refOf) },
        ...(isLatest ? { isLatest } : {}),
      });
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
    const { answeredLength, interrupted, notes } = client.answers;
    return {
      ...{ turn, newest, facts: this.#facts.before, title, labels, spent, origin, lastAt },
      ...{ answeredLength, interrupted, notes, lostScopes: [...server.lostScopes] },
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
