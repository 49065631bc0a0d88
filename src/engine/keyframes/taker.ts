import type { RecordedEvent } from "../../domain/events/recorded.ts";
import type { ConversationView } from "../../projections/conversation-view.ts";
import type { KeyframeStore } from "../keyframe-store.ts";
import { notePlaces } from "./block-places.ts";
import { type Chunk, type ChunkRef, chunkName, chunkText, cutTurn } from "./chunks.ts";
import { countFacts, noFacts, noteFacts } from "./facts.ts";
import { type KeyframeData, keyframeKey, listKey, type Restored } from "./keyframe.ts";

/** How much work a fold may be from the nearest keyframe (MODEL 7); a run that is open by then has its end waited for. */
const dueEvents = 512;
const dueEdits = 5_000;

type Unsaved = { readonly revision: number; readonly data: KeyframeData; readonly lists: ReadonlyMap<string, string> };

/**
 * Takes keyframes of a fold as it goes, by work done since the last one. A keyframe is a courtesy: what cannot be saved is
 * left out, and costs time only.
 */
export class KeyframeTaker {
  readonly #store: KeyframeStore;
  readonly #stream: string;
  /** Keyframes up to here are there already. */
  readonly #savedUpTo: number;
  #chunks: readonly Chunk[] = [];
  #lists: KeyframeData["facts"] = [];
  #facts = noFacts();
  #contexts = 0;
  #work = { events: 0, edits: 0 };
  #unsaved: Unsaved[] = [];

  /** @param savedUpTo - The revision of the newest keyframe that is there, if the fold begins before it. */
  constructor(store: KeyframeStore, stream: string, { restored, savedUpTo = -1 }: TakerStart = {}) {
    this.#store = store;
    this.#stream = stream;
    this.#savedUpTo = savedUpTo;
    if (restored !== undefined) this.#continue(restored);
  }

  /** Follows the fold: `recorded` is the event that it has just taken in. */
  note(view: ConversationView, recorded: RecordedEvent): void {
    const { event, revision } = recorded;
    notePlaces(event, revision);
    noteFacts(this.#facts, recorded, view.server.all.slice(this.#contexts));
    this.#contexts = view.server.all.length;
    this.#work.events += 1;
    if (event.type === "TurnEdited") this.#work.edits += event.data.edits.length;
    const isDue = this.#work.events >= dueEvents || this.#work.edits >= dueEdits;
    if (isDue && view.client.run === null) this.#take(view, revision);
  }

  /** Writes what was taken since it was last called. */
  async save(): Promise<void> {
    const unsaved = this.#unsaved;
    this.#unsaved = [];
    try {
      for (const { revision, data, lists } of unsaved) {
        for (const [name, text] of lists) {
          await this.#store.put(listKey(this.#stream, name), { revision: 0, data: text });
        }
        // Last, so that a keyframe that is there has all that it names.
        await this.#store.put(keyframeKey(this.#stream), { revision, data: JSON.stringify(data) });
      }
    } catch {
      // Full, locked, closed: readers fold from further back.
    }
  }

  #continue({ data, view }: Restored): void {
    const { committed } = view.client;
    let start = 0;
    this.#chunks = data.turn.map((ref) => {
      const blocks = committed.after(start).slice(0, ref.length);
      start += ref.length;
      return { ...ref, blocks };
    });
    this.#lists = data.facts;
    this.#contexts = view.server.all.length;
  }

  #take(view: ConversationView, revision: number): void {
    const { committed } = view.client;
    const chunks = cutTurn(committed, this.#chunks);
    if (chunks === null) return;
    const rests: Chunk[] = [];
    const newest: KeyframeData["newest"] = [];
    for (const [scope, { context, turn }] of view.newest) {
      const shared = committed.commonPrefixLength(turn);
      const rest = cutTurn(turn, chunks, shared);
      if (rest === null) return;
      rests.push(...rest);
      newest.push({ scope, revision: context.revision, shared, rest: rest.map(refOf) });
    }
    const known = new Set(this.#chunks.map(({ name }) => name));
    const lists = new Map<string, string>();
    for (const { name, blocks } of [...chunks, ...rests]) if (!known.has(name)) lists.set(name, chunkText(blocks));
    if (countFacts(this.#facts) > 0) {
      const text = JSON.stringify(this.#facts);
      lists.set(chunkName(text), text);
      this.#lists = [...this.#lists, { name: chunkName(text), count: countFacts(this.#facts) }];
    }
    this.#facts = noFacts();
    this.#chunks = chunks;
    this.#work = { events: 0, edits: 0 };
    if (revision <= this.#savedUpTo) return;
    const { title, labels } = view;
    const data = { turn: chunks.map(refOf), newest, facts: this.#lists, title, labels };
    this.#unsaved.push({ revision, data, lists });
  }
}

type TakerStart = { readonly restored?: Restored; readonly savedUpTo?: number };

const refOf = ({ name, length, digest }: ChunkRef): ChunkRef => ({ name, length, digest });
