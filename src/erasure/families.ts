import { type JsonObject, objectOf, textOrNull } from "../base/json.ts";
import { type ConversationId, conversationIdSchema, conversationOfStream, conversationStream } from "../domain/ids.ts";
import { decodeData } from "../log/codec/data.ts";
import { isOfTheStore } from "../log/codec/recorded.ts";
import { type EventStore, envelopeAt } from "../log/ports/event-store.ts";

/** How a conversation began, from its first event. */
type Beginning = { readonly parent: ConversationId | null; readonly isFork: boolean };

/** All conversations of a store, and which began from which. */
export class Families {
  readonly #beginnings: ReadonlyMap<ConversationId, Beginning>;
  readonly #began = new Map<ConversationId, ConversationId[]>();

  constructor(beginnings: ReadonlyMap<ConversationId, Beginning>) {
    this.#beginnings = beginnings;
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
    return (this.#began.get(id) ?? []).filter((each) => this.#beginnings.get(each)?.isFork === true);
  }

  /** The children that it has itself: they inherit none of its events. */
  childrenOf(id: ConversationId): readonly ConversationId[] {
    return (this.#began.get(id) ?? []).filter((each) => this.#beginnings.get(each)?.isFork === false);
  }

  /** The conversations that share events and a naming key with one: its oldest ancestor, and all forks from there on. */
  lineageOf(id: ConversationId): readonly ConversationId[] {
    let oldest = id;
    for (
      let at = this.#beginnings.get(id);
      at?.isFork === true && at.parent !== null;
      at = this.#beginnings.get(at.parent)
    ) {
      if (!this.#beginnings.has(at.parent)) break;
      oldest = at.parent;
    }
    const found = new Set([oldest]);
    for (const each of found) for (const fork of this.forksOf(each)) found.add(fork);
    return [...found];
  }

  /** The lineages of a conversation, of the children of all of these, and so on. */
  withChildren(id: ConversationId): readonly ConversationId[] {
    const found = new Set(this.lineageOf(id));
    for (const each of found)
      for (const child of this.childrenOf(each)) for (const other of this.lineageOf(child)) found.add(other);
    return [...found];
  }
}

/** Reads the first event of every conversation. The origin of one that cannot be read is unknown. */
export async function readFamilies(store: EventStore): Promise<Families> {
  const beginnings = new Map<ConversationId, Beginning>();
  for await (const { stream } of store.heads("conversation-")) {
    const id = conversationOfStream(stream);
    if (id !== null) beginnings.set(id, await beginningOf(store, id));
  }
  return new Families(beginnings);
}

async function beginningOf(store: EventStore, id: ConversationId): Promise<Beginning> {
  const first = await envelopeAt(store, conversationStream(id), 0);
  const { type, conversationId } = first === null ? {} : originIn(first);
  const parent = conversationIdSchema.safeParse(textOrNull(conversationId));
  return { parent: parent.success ? parent.data : null, isFork: type === "fork" };
}

function originIn(first: Parameters<typeof decodeData>[0]): JsonObject {
  try {
    return objectOf(decodeData(first).data["origin"]);
  } catch (error) {
    if (isOfTheStore(error)) throw error;
    return {};
  }
}
