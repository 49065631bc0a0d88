import { freezeJson, frozenJson } from "../base/frozen-json.ts";
import { type JsonObject, objectsOf, textOrEmpty, textOrNull } from "../base/json.ts";
import { sha256Hex } from "../base/sha256.ts";
import { type BlockNames, nameWithoutKey, plainNames } from "./block-names.ts";
import { essenceText, isEqualById } from "./essence.ts";
import type { BlockId, BlockName } from "./ids.ts";
import { readable, resultParts, retold, saidIn } from "./message-content.ts";
import { notRead } from "./not-read.ts";
import { refuseSecrets } from "./refuse-secrets.ts";
import type { Wire } from "./wire.ts";

export const blockKinds = ["system", "user", "assistant", "reasoning", "tool_call", "tool_result", "other"] as const;
export type BlockKind = (typeof blockKinds)[number];

type BlockFields = {
  readonly id: BlockId | null;
  readonly kind: BlockKind;
  readonly payload: JsonObject;
  readonly wire?: Wire | null;
  readonly erased?: true;
};

/**
 * One item of a conversation, a frozen object: assigning to a member throws a TypeError. The payload uses turnlog's own
 * vocabulary, which docs/EVENTS.md lists and each provider's codec translates: text parts are `{type: "text"}` for every
 * role, a call and its result have a `callId`, and absent optional members are omitted.
 *
 * A block without an id is a draft; recording it gives it an id.
 */
export class Block {
  readonly id: BlockId | null;
  readonly kind: BlockKind;
  readonly payload: JsonObject;
  readonly wire: Wire | null;
  /** Its content was erased: the payload is a stand-in with the text `[erased]` (rule: Erasure). */
  readonly isErased: boolean;
  #digest: string | undefined;
  /** Those of the conversation that records it; undefined for a block that is only a draft so far. */
  #names: BlockNames | undefined;
  /** The name under which it is recorded, once it is known. */
  #name: BlockName | undefined;
  #isFrozen: boolean;
  /** For a block whose content is stored elsewhere: null until it has been read. */
  #content: BlockContent | null | undefined;

  /**
   * Copies the payload and the wire if the caller could still change them.
   *
   * @param content - `own` if no other code holds them, as after JSON.parse: they are not copied. `elsewhere` if they have not been
   * read yet.
   * @throws {TypeError} if they are not JSON, or the payload names a secret.
   */
  constructor(fields: BlockFields, content: "foreign" | "own" | "elsewhere" = "foreign") {
    const { id, kind, payload, wire = null, erased } = fields;
    this.id = id;
    this.kind = kind;
    this.isErased = erased === true;
    const isForeign = content === "foreign";
    this.#isFrozen = content !== "own";
    this.payload = isForeign ? frozenJson(payload, "a block's payload") : payload;
    this.wire = isForeign ? frozenJson(wire, "a block's wire") : wire;
    if (isForeign) refuseSecrets(this.payload, "a block's payload");
    if (content === "elsewhere") {
      this.#content = null;
      Object.defineProperties(this, Block.#readLater);
    }
    // An assignment would make the block differ from its digest and from the log.
    Object.freeze(this);
  }

  /** @internal A block as an event holds it, with the digest computed when it was written (decision 0005). */
  static recorded(fields: BlockFields & { readonly digest: BlockName }, names: BlockNames): Block {
    const block = new Block(fields, "own");
    block.#setName(fields.digest, names);
    names.note?.(block);
    return block;
  }

  /**
   * @internal The block with the names of the conversation that records it: the same object, unless it has another's. A block that was
   * made from it has the same names.
   */
  static named(block: Block, names: BlockNames): Block {
    if (block.#names === names) return block;
    const named = block.#names === undefined ? block : new Block(block, "own");
    if (named !== block) named.#digest = block.digest;
    named.#names = names;
    return named;
  }

  /** @internal A new block with the names of another one. */
  static namedLike(block: Block, other: Block | undefined): Block {
    return other === undefined || other.#names === undefined ? block : Block.named(block, other.#names);
  }

  /** @internal A new block that folds make, for the conversation of another one. */
  static namedWithoutKey(block: Block, other: Block): Block {
    block.#names = other.#names;
    if (other.#names !== undefined) block.#name = nameWithoutKey(other.#names, block.digest);
    return block;
  }

  /** @internal Undefined for a draft. */
  static namesOf(block: Block): BlockNames | undefined {
    return block.#names;
  }

  /** @internal Whether two blocks are equal. Blocks of one conversation are compared by name, which needs no content. */
  static areEqual(left: Block, right: Block): boolean {
    if (left.#names !== undefined && left.#names === right.#names) return left.recordedAs === right.recordedAs;
    return left.digest === right.digest;
  }

  /** Freezes the content of a recorded block. Reading does not freeze it, because few of the blocks read reach callers. */
  static freeze(block: Block): void {
    if (block.#isFrozen) return;
    block.#isFrozen = true;
    freezeJson(block.payload);
    freezeJson(block.wire);
  }

  /** A block of which only a saved list is known. Until it is filled, reading its content throws `content-not-read`. */
  static outline(
    known: { readonly id: BlockId; readonly kind: BlockKind; readonly digest: BlockName },
    names: BlockNames,
  ): Block {
    const block = new Block({ ...known, payload: {} }, "elsewhere");
    block.#setName(known.digest, names);
    return block;
  }

  /** Fills an outline with its content, read from storage. */
  static fill(outline: Block, { payload, wire, isErased }: Block): void {
    if (outline.#content !== null) return;
    freezeJson(payload);
    freezeJson(wire);
    outline.#content = { payload, wire, isErased };
  }

  /** Only id, kind and digest are known; the content has not been read from storage. */
  get isOutline(): boolean {
    return this.#content === null;
  }

  static readonly #readLater: PropertyDescriptorMap & ThisType<Block> = {
    payload: {
      enumerable: true,
      get() {
        return this.#contentRead.payload;
      },
    },
    wire: {
      enumerable: true,
      get() {
        return this.#contentRead.wire;
      },
    },
    isErased: {
      enumerable: true,
      get() {
        return this.#contentRead.isErased;
      },
    },
  };

  get #contentRead(): BlockContent {
    return this.#content ?? notRead();
  }

  /** Blocks are equal if their digests are (rule: Equal blocks): sha256 of the canonical JSON of the essence, computed once. */
  get digest(): string {
    // The content of an erased block is unknown, so it equals only what is recorded under its name.
    this.#digest ??= sha256Hex(this.isErased ? `turnlog/erased/v1 ${this.#name}` : essenceText(this));
    return this.#digest;
  }

  /** @internal The name under which its conversation records it; for a draft, its digest. */
  get recordedAs(): BlockName {
    if (this.#name !== undefined) return this.#name;
    const name = (this.#names ?? plainNames).nameOf(this.digest);
    // A draft is named later.
    if (this.#names !== undefined) this.#name = name;
    return name;
  }

  /** The form within its kind: `message`, `reasoning`, `function`, `custom`, or the provider's name for it; `other` if it has none. */
  get type(): string {
    const { type } = this.payload;
    if (typeof type === "string") return type;
    return this.kind === "reasoning" || this.kind === "other" ? this.kind : "message";
  }

  /** The role of a message as it was sent (`system` is not `developer`); null for other blocks. */
  get role(): string | null {
    return textOrNull(this.payload["role"]);
  }

  /** The parts of a message's content; empty for other blocks. */
  get parts(): readonly JsonObject[] {
    const { content } = this.payload;
    return this.role === null ? [] : objectsOf(content);
  }

  /** The text that a person reads: message text, a call's arguments, a result's output, a reasoning summary. */
  get text(): string {
    switch (this.kind) {
      case "tool_call":
        return this.arguments;
      case "tool_result":
        return readable(this.payload["output"]);
      case "reasoning":
        return readable(this.payload["summary"]) || readable(this.payload["content"]);
      default:
        return readable(this.payload["content"]);
    }
  }

  /** The name of the called tool; null for blocks that are not calls. */
  get name(): string | null {
    return textOrNull(this.payload["name"]);
  }

  /** The provider's id that pairs a call with its result. It may repeat in a conversation: pairing goes by position. */
  get callId(): string | null {
    return textOrNull(this.payload["callId"]);
  }

  /** The arguments of a call, as the exact string received: JSON, or free text if its type is `custom`. Empty for other blocks. */
  get arguments(): string {
    return textOrEmpty(this.payload["arguments"]);
  }

  /**
   * The same block with another payload. The wire goes, because the provider issued other content. Only the mark of an incomplete
   * response stays: an edit does not make its calls executable.
   */
  withPayload(payload: JsonObject): Block {
    const wire = this.wire?.partial === true ? { scope: this.wire.scope, partial: this.wire.partial } : null;
    return Block.namedLike(new Block({ id: this.id, kind: this.kind, payload, wire }), this);
  }

  /**
   * The same block with another text: of a message, a result's output or a call's arguments. Images, files and audio beside the text
   * stay; to remove them, use `withPayload`. If the text is the same, returns the block itself.
   */
  withText(text: string): Block {
    if (text === this.text) return this;
    const { output, content } = this.payload;
    switch (this.kind) {
      case "tool_call":
        return this.withPayload({ ...this.payload, arguments: text });
      case "tool_result": {
        const parts = resultParts(output);
        const isMixed = parts?.some((part) => saidIn(part) === null) === true;
        return this.withPayload({ ...this.payload, output: isMixed ? retold(parts, text) : text });
      }
      case "reasoning":
        return this.withPayload({ ...this.payload, summary: [{ type: "text", text }] });
      default:
        return this.withPayload({ ...this.payload, content: retold(objectsOf(content), text) });
    }
  }

  /** The same content under another id, or as a draft. */
  withId(id: BlockId | null): Block {
    return id === this.id ? this : this.#copy({ id, wire: this.wire });
  }

  /** The same content with another wire. */
  withWire(wire: Wire | null): Block {
    return wire === this.wire ? this : this.#copy({ id: this.id, wire: frozenJson(wire, "a block's wire") });
  }

  toJSON(): JsonObject {
    const json = { id: this.id, kind: this.kind, payload: this.payload };
    const whole = this.wire === null ? json : { ...json, wire: this.wire };
    return this.isErased ? { ...whole, erased: true } : whole;
  }

  #copy(changes: { readonly id: BlockId | null; readonly wire: Wire | null }): Block {
    const erased = this.isErased ? ({ erased: true } as const) : {};
    const copy = new Block({ ...changes, kind: this.kind, payload: this.payload, ...erased }, "own");
    copy.#names = this.#names;
    // The wire affects the essence only of blocks that are equal by id; all others keep their digest.
    const isSameWire = changes.wire === this.wire;
    if (isSameWire) copy.#digest = this.#digest;
    // A keyed name stays where it can: the key may be lost.
    if (isSameWire || this.isErased || (this.#names !== plainNames && !isEqualById(this.kind))) copy.#name = this.#name;
    return copy;
  }

  #setName(name: BlockName, names: BlockNames): void {
    this.#names = names;
    this.#name = name;
    // The digest of content that is read is hashed only if somebody asks for it.
    if (names === plainNames) this.#digest = name;
  }
}

type BlockContent = Pick<Block, "payload" | "wire" | "isErased">;

/** The id of a recorded block. A draft here is a bug. */
export function idOf(block: Block): BlockId {
  if (block.id === null) throw new Error("this block has no id yet, because it is not recorded");
  return block.id;
}
