import { isJsonList, isJsonObject, type JsonValue, parseJson } from "../../base/json.ts";
import { NumberLiteral } from "../../base/number-literal.ts";
import { placesOf } from "../../domain/events/places.ts";
import { type ConversationId, conversationStream } from "../../domain/ids.ts";
import { blobStreamsNamed } from "../../log/codec/blobs.ts";
import { type ContentLine, contentLines } from "../../log/codec/line-places.ts";
import type { EventStore, StoredEnvelope } from "../../log/ports/event-store.ts";

type FoundEvent = { readonly type: string; readonly lines: Set<number> };

type FoundConversation = {
  readonly events: Map<number, FoundEvent>;
  readonly blockIds: Set<string>;
  readonly names: Set<string>;
  /** As JSON text, without the quotes. */
  readonly texts: Set<string>;
  readonly blobs: Set<string>;
};

/** The lines that an erasure would empty, by conversation and revision. */
export class LinePlaces {
  readonly #found = new Map<ConversationId, FoundConversation>();

  /** Conversations that have something of it and are written as `json`, so that they can be erased only as a whole. */
  readonly inJson = new Set<ConversationId>();

  get conversations(): IterableIterator<ConversationId> {
    return this.#found.keys();
  }

  get count(): number {
    let count = 0;
    for (const { events } of this.#found.values()) for (const { lines } of events.values()) count += lines.size;
    return count;
  }

  /** The lines of an event that can be erased. */
  erasable(id: ConversationId, envelope: StoredEnvelope): readonly ContentLine[] {
    if (envelope.encoding === "json") this.inJson.add(id);
    return contentLines(envelope).filter(({ isErased }) => !isErased);
  }

  /** Adds a line; of an event that this turnlog does not understand, all lines, because it cannot know what belongs together. */
  add(id: ConversationId, envelope: StoredEnvelope, line: ContentLine): void {
    const isKnown = placesOf(envelope.type, envelope.version) !== null;
    for (const each of isKnown ? [line] : contentLines(envelope)) if (!each.isErased) this.#add(id, envelope, each);
  }

  #add(id: ConversationId, { stream, revision, type }: StoredEnvelope, line: ContentLine): void {
    const { events, texts, blobs } = this.touch(id);
    this.noteErased(id, line);
    const event = events.get(revision) ?? { type, lines: new Set<number>() };
    events.set(revision, event);
    event.lines.add(line.line);
    for (const blob of blobStreamsNamed(stream, line.content)) blobs.add(blob);
    if (line.holds === "block")
      for (const json of line.content.split("\t")) for (const text of textsIn(readMaybe(json))) texts.add(text);
  }

  /** A line that was erased before: what equals its block goes as well. */
  noteErased(id: ConversationId, { block }: ContentLine): void {
    if (block === null) return;
    const { blockIds, names } = this.touch(id);
    blockIds.add(block.id);
    names.add(block.name);
  }

  touch(id: ConversationId): FoundConversation {
    const known = this.#found.get(id);
    if (known !== undefined) return known;
    const found = {
      events: new Map(),
      blockIds: new Set<string>(),
      names: new Set<string>(),
      texts: new Set<string>(),
      blobs: new Set<string>(),
    };
    this.#found.set(id, found);
    return found;
  }

  has(id: ConversationId, revision: number, line: number): boolean {
    return this.#found.get(id)?.events.get(revision)?.lines.has(line) === true;
  }

  /** Whether anything of an event is to be erased. */
  hasEvent(id: ConversationId, revision: number): boolean {
    return this.#found.get(id)?.events.has(revision) === true;
  }

  /** The names under which the blocks are recorded that lose their content. */
  namesIn(lineage: readonly ConversationId[]): ReadonlySet<string> {
    return new Set(lineage.flatMap((id) => [...(this.#found.get(id)?.names ?? [])]));
  }

  textsIn(lineage: readonly ConversationId[]): readonly string[] {
    return [...new Set(lineage.flatMap((id) => [...(this.#found.get(id)?.texts ?? [])]))];
  }

  of(
    id: ConversationId,
  ): readonly { readonly revision: number; readonly type: string; readonly lines: readonly number[] }[] {
    const { events } = this.touch(id);
    const inOrder = [...events].toSorted(([left], [right]) => left - right);
    return inOrder.map(([revision, { type, lines }]) => ({
      ...{ revision, type, lines: [...lines].toSorted((left, right) => left - right) },
    }));
  }

  blockIdsOf(id: ConversationId): readonly string[] {
    return [...this.touch(id).blockIds];
  }

  /** The streams of long texts that only lines to erase refer to. */
  async blobsOf(store: EventStore, id: ConversationId): Promise<readonly string[]> {
    const { blobs } = this.touch(id);
    if (blobs.size === 0) return [];
    const left = new Set(blobs);
    for await (const envelope of store.readStream(conversationStream(id)))
      for (const { line, content } of contentLines(envelope))
        if (!this.has(id, envelope.revision, line))
          for (const blob of blobStreamsNamed(envelope.stream, content)) left.delete(blob);
    return [...left];
  }
}

function readMaybe(json: string): JsonValue {
  try {
    return parseJson(json);
  } catch {
    // Members without the braces around them.
    return parseJson(`{${json}}`);
  }
}

/** The texts in a value, as JSON without the quotes. */
function* textsIn(value: JsonValue): Generator<string> {
  if (typeof value === "string") yield JSON.stringify(value).slice(1, -1);
  else if (isJsonList(value)) for (const item of value) yield* textsIn(item);
  else if (isJsonObject(value) && !(value instanceof NumberLiteral))
    for (const member of Object.values(value)) if (member !== undefined) yield* textsIn(member);
}
