import type { RecordedEvent } from "../../domain/events/recorded.ts";
import type { ConversationView } from "../../projections/conversation-view.ts";
import type { EventStore, Head } from "../ports/event-store.ts";
import type { SnapshotStore } from "../ports/snapshot-store.ts";
import { notePlaces } from "./block-places.ts";
import { type Chunk, chunkName, chunksOf, chunkText, cutTurn, refOf } from "./chunks.ts";
import { hasFacts, noFacts, noteFacts, noteInherited, type SettingsPlaces } from "./server-context-rows.ts";
import { listKey, readSnapshot, type Snapshot, type SnapshotData, snapshotKey, snapshotText } from "./snapshot.ts";

/** How much work a fold may be from the nearest snapshot (MODEL 7); a run that is open by then has its end waited for. */
export type SnapshotWork = { readonly events: number; readonly edits: number };
const dueWork: SnapshotWork = { events: 512, edits: 5_000 };

/**
 * Takes snapshots of a fold as it goes, by work done since the last one. A snapshot is a courtesy: what cannot be saved is
 * left out, and costs time only.
 */
export class SnapshotWriter {
  readonly #store: SnapshotStore;
  readonly #stream: string;
  readonly #due: SnapshotWork;
  /** The snapshot to go on from, until the fold has come to it. */
  #awaited: Snapshot | null;
  /** Those of the last snapshot; taken apart only when another is taken. */
  #chunks: () => readonly Chunk[] = () => [];
  #facts = noFacts(null, 0);
  #work = { events: 0, edits: 0 };
  #unsaved: Unsaved[] = [];

  /** @param newest - The newest snapshot that is there: the first one taken is after it, and shares its lists. */
  constructor(store: SnapshotStore, stream: string, newest: Snapshot | null, due: SnapshotWork = dueWork) {
    this.#store = store;
    this.#due = due;
    this.#stream = stream;
    this.#awaited = newest;
  }

  /** Follows the fold: the event is the one that it has just taken in, of the stream or of an ancestor's. */
  note(view: ConversationView, recorded: RecordedEvent): void {
    const { event, stream, revision, digest } = recorded;
    notePlaces(recorded);
    const isOwn = stream === this.#stream;
    if (this.#awaited !== null) {
      if (isOwn && revision === this.#awaited.revision) this.goOn(view);
      return;
    }
    noteFacts(this.#facts, recorded, view.server);
    this.#work.events += 1;
    if (event.type === "TurnEdited") this.#work.edits += event.data.edits.length;
    const isDue = this.#work.events >= this.#due.events || this.#work.edits >= this.#due.edits;
    // What a fork inherits is work as well: it has a snapshot of its own where it begins.
    if (isDue && isOwn && view.client.run === null) this.#take(view, { revision, digest });
  }

  /** The fold stands where the newest snapshot was taken. */
  goOn(view: ConversationView): void {
    if (this.#awaited === null) return;
    const { turn, facts } = this.#awaited.data;
    this.#awaited = null;
    const { committed } = view.client;
    this.#chunks = () => chunksOf(committed, turn);
    this.#facts = noFacts(facts, view.server.all.length);
  }

  /** The fold stands where a fork begins, and its ancestors' events were not followed. */
  inherit(view: ConversationView, settings: SettingsPlaces): void {
    if (this.#awaited === null) noteInherited(this.#facts, view.server, settings);
  }

  /** Writes what was taken since it was last called. */
  async save(): Promise<void> {
    const unsaved = this.#unsaved;
    if (unsaved.length === 0) return;
    this.#unsaved = [];
    try {
      for (const { head, data, textByName } of unsaved) {
        for (const [name, text] of textByName) {
          await this.#store.put(listKey(this.#stream, name), { revision: 0, data: text });
        }
        // Last, so that a snapshot that is there has all that it names.
        const text = snapshotText(data, head.digest);
        await this.#store.put(snapshotKey(this.#stream), { revision: head.revision, data: text });
      }
    } catch {
      // Full, locked, closed: readers fold from further back.
    }
  }

  #take(view: ConversationView, head: Head): void {
    this.#work = { events: 0, edits: 0 };
    const { committed } = view.client;
    const before = this.#chunks();
    const chunks = cutTurn(committed, before, { stream: this.#stream });
    if (chunks === null) return;
    const rests: Chunk[] = [];
    const newest: SnapshotData["newest"] = [];
    for (const [scope, { context, turn }] of view.newest) {
      const shared = committed.commonPrefixLength(turn);
      const rest = cutTurn(turn, chunks, { stream: this.#stream, from: shared });
      if (rest === null) return;
      rests.push(...rest);
      newest.push({ scope, inferenceId: context.inferenceId, shared, rest: rest.map(refOf) });
    }
    const known = new Set(before.map(({ name }) => name));
    const unknown = [...chunks, ...rests].filter(({ name }) => !known.has(name));
    const textByName = new Map(unknown.map(({ name, blocks }) => [name, chunkText(blocks, this.#stream)]));
    if (hasFacts(this.#facts)) {
      const text = JSON.stringify(this.#facts);
      textByName.set(chunkName(text), text);
      this.#facts = noFacts(chunkName(text), this.#facts.known);
    }
    const { title, labels } = view;
    const data = { turn: chunks.map(refOf), newest, facts: this.#facts.before, title, labels };
    this.#unsaved.push({ head, data, textByName });
    this.#chunks = () => chunks;
  }
}

/**
 * A taker for a fold that begins with the first event: it goes on from the newest snapshot that is there. Null where the store
 * keeps none.
 */
export async function openSnapshotWriter(events: EventStore, stream: string): Promise<SnapshotWriter | null> {
  const { snapshots } = events;
  if (snapshots === undefined) return null;
  const newest = await readSnapshot(events, stream, Number.MAX_SAFE_INTEGER).catch(() => null);
  return new SnapshotWriter(snapshots, stream, newest);
}

type Unsaved = {
  /** The event after which it was taken. */
  readonly head: Head;
  readonly data: SnapshotData;
  readonly textByName: ReadonlyMap<string, string>;
};
