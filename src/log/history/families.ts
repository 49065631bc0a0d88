import { type JsonObject, objectOf, textOrNull } from "../../base/json.ts";
import {
  type ConversationId,
  conversationIdSchema,
  conversationOfStream,
  conversationStream,
} from "../../domain/ids.ts";
import { decodeData } from "../codec/data.ts";
import { isErased } from "../codec/erased.ts";
import { isOfTheStore } from "../codec/recorded.ts";
import { type EventStore, envelopeAt, type StoredEnvelope } from "../ports/event-store.ts";

/** How a conversation began, from its first event; `unknown` if that cannot be read. */
type Beginning = {
  readonly parent: ConversationId | null;
  /** The last event of the parent that a fork inherits; null if it is no fork. */
  readonly forkedAt: number | null;
  readonly isUnknown: boolean;
};

/** Groups of conversations that have the same naming key, by each of them. */
type Sharing = ReadonlyMap<ConversationId, readonly ConversationId[]>;

/** All conversations of a store, and which began from which. */
export class Families {
  readonly #beginnings: ReadonlyMap<ConversationId, Beginning>;
  readonly #began = new Map<ConversationId, ConversationId[]>();
  readonly #sharing: Sharing;

  constructor(beginnings: ReadonlyMap<ConversationId, Beginning>, sharing: Sharing) {
    this.#beginnings = beginnings;
    this.#sharing = sharing;
    for (const [id, { parent }] of beginnings) {
      if (parent === null) continue;
      const known = this.#began.get(parent);
      if (known === undefined) this.#began.set(parent, [id]);
      else known.push(id);
    }
  }

  get all(): readonly ConversationId[] {
    return [...this.#beginnings.keys()];
  }

  /** The forks that began from a conversation itself. */
  forksOf(id: ConversationId): readonly ConversationId[] {
    return (this.#began.get(id) ?? []).filter((each) => this.#isFork(each));
  }

  /** A conversation, its forks, and the forks of these. */
  withForks(id: ConversationId): readonly ConversationId[] {
    const found = new Set([id]);
    for (const each of found) for (const fork of this.forksOf(each)) found.add(fork);
    return [...found];
  }

  /** The children that it has itself: they inherit none of its events. */
  childrenOf(id: ConversationId): readonly ConversationId[] {
    return (this.#began.get(id) ?? []).filter((each) => !this.#isFork(each));
  }

  /** The conversations that inherit events of one, and the last of its events that each inherits. A fork of a fork inherits what that one does. */
  descendantsOf(id: ConversationId): ReadonlyMap<ConversationId, number> {
    const descendants = new Map<ConversationId, number>();
    for (const fork of this.forksOf(id)) {
      const upTo = this.#beginnings.get(fork)?.forkedAt ?? -1;
      for (const each of this.withForks(fork)) descendants.set(each, upTo);
    }
    return descendants;
  }

  /** The conversations that share events and a naming key with one: its oldest ancestor, and all forks from there on. The same for each of them. */
  lineageOf(id: ConversationId): readonly ConversationId[] {
    const found = new Set([this.#oldestOf(id)]);
    for (const each of found) {
      for (const fork of this.forksOf(each)) found.add(fork);
      for (const other of this.#sharing.get(each) ?? []) found.add(this.#oldestOf(other));
    }
    return this.#sharing.size === 0 ? [...found] : [...found].toSorted();
  }

  #isFork(id: ConversationId): boolean {
    return (this.#beginnings.get(id)?.forkedAt ?? null) !== null;
  }

  #oldestOf(id: ConversationId): ConversationId {
    let oldest = id;
    for (
      let at = this.#beginnings.get(id);
      at !== undefined && at.forkedAt !== null && at.parent !== null;
      at = this.#beginnings.get(at.parent)
    ) {
      if (!this.#beginnings.has(at.parent)) break;
      oldest = at.parent;
    }
    return oldest;
  }

  /** The lineages of a conversation, of the children of all of these, and so on. */
  withChildren(id: ConversationId): readonly ConversationId[] {
    const found = new Set(this.lineageOf(id));
    for (const each of found)
      for (const child of this.childrenOf(each)) for (const other of this.lineageOf(child)) found.add(other);
    return [...found];
  }
}

/** Reads the first event of every conversation. If one cannot be read, its naming key says which lineage it belongs to. */
export async function readFamilies(store: EventStore): Promise<Families> {
  const beginnings = new Map<ConversationId, Beginning>();
  for await (const { stream } of store.heads("conversation-")) {
    const id = conversationOfStream(stream);
    if (id !== null) beginnings.set(id, await beginningOf(store, id));
  }
  const isAnyUnknown = [...beginnings.values()].some(({ isUnknown }) => isUnknown);
  return new Families(beginnings, isAnyUnknown ? await sharingIn(store, [...beginnings.keys()]) : new Map());
}

async function sharingIn(store: EventStore, all: readonly ConversationId[]): Promise<Sharing> {
  const idsByKey = new Map<string, ConversationId[]>();
  for (const id of all) {
    const key = (await store.namingKey?.(conversationStream(id))) ?? null;
    if (key !== null) idsByKey.set(key, [...(idsByKey.get(key) ?? []), id]);
  }
  return new Map([...idsByKey.values()].flatMap((ids) => ids.map((id) => [id, ids])));
}

async function beginningOf(store: EventStore, id: ConversationId): Promise<Beginning> {
  const first = await envelopeAt(store, conversationStream(id), 0);
  const origin = first === null ? {} : originIn(first);
  const { type, conversationId, revision } = origin ?? {};
  const parent = conversationIdSchema.safeParse(textOrNull(conversationId));
  const forkedAt = type === "fork" && typeof revision === "number" ? revision : null;
  return { parent: parent.success ? parent.data : null, forkedAt, isUnknown: origin === null };
}

/** Null if the event cannot be read, or begins no conversation. */
function originIn(first: StoredEnvelope): JsonObject | null {
  if (isErased(first)) return {};
  try {
    const { data } = decodeData(first);
    return data["origin"] === undefined ? null : objectOf(data["origin"]);
  } catch (error) {
    if (isOfTheStore(error)) throw error;
    return null;
  }
}
