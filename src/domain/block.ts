import { freezeJson, frozenJson } from "../base/frozen-json.ts";
import {
  isJsonList,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  objectsOf,
  textOrEmpty,
  textOrNull,
} from "../base/json.ts";
import { sha256Hex } from "../base/sha256.ts";
import { TurnlogError } from "../base/turnlog-error.ts";
import { essenceText } from "./essence.ts";
import type { BlockId } from "./ids.ts";
import { resultParts, retold, saidIn } from "./message-content.ts";
import { refuseSecrets } from "./refuse-secrets.ts";

export const blockKinds = ["system", "user", "assistant", "reasoning", "tool_call", "tool_result", "other"] as const;
export type BlockKind = (typeof blockKinds)[number];

/**
 * What rebuilds the provider's item exactly, and where it came from. A block that is edited loses it: the provider never
 * issued the new content.
 */
export type Wire = {
  /** The endpoint scope that issued the item. */
  readonly scope: string;
  /** The item's id at the provider. */
  readonly itemId?: string;
  /** The response that the item came in (by inference id), its place there, and the number of items. */
  readonly group?: { readonly id: string; readonly index: number; readonly size: number; readonly stored: boolean };
  /** The response did not complete: its text is kept, its calls are neither executed nor sent. */
  readonly partial?: true;
  /** The item did not come whole, in a response that did. */
  readonly incomplete?: true;
  /** The last block of an answer that the server has paused: asked again with that at the end, it goes on. */
  readonly paused?: true;
  /** To the provider it stands for all that came before it: it was made of that by a compaction. */
  readonly compacts?: true;
  /** What only the provider can read: encrypted reasoning, a compaction, a signature. */
  readonly ciphertext?: string;
  /** What a plain encoding of the payload lacks of the item received, as `jsonDifference` tells it. */
  readonly residue?: JsonValue;
};

type BlockFields = {
  readonly id: BlockId | null;
  readonly kind: BlockKind;
  readonly payload: JsonObject;
  readonly wire?: Wire | null;
};

/**
 * One item of a conversation, a frozen object: an assignment is a TypeError. The payload speaks turnlog's own
 * vocabulary, which docs/EVENTS.md lists and each provider's codec translates: text parts are `{type: "text"}` whatever their
 * role, a call and its result have a `callId`, and absent optionals are left out.
 *
 * A block without id is a draft; recording it gives it one.
 */
export class Block {
  readonly id: BlockId | null;
  readonly kind: BlockKind;
  readonly payload: JsonObject;
  readonly wire: Wire | null;
  #digest: string | undefined;
  #isFrozen: boolean;
  /** Of a block whose content is kept elsewhere: null until it was read. */
  #content: Pick<Block, "payload" | "wire"> | null | undefined;

  /**
   * Copies what could still be changed of the payload and the wire.
   *
   * @param content - `own` where nobody else holds them, as JSON.parse gives them: they are not copied. `elsewhere` where
   * they are still to be read.
   * @throws {TypeError} when they are no JSON, and for a payload that names a secret.
   */
  constructor(fields: BlockFields, content: "foreign" | "own" | "elsewhere" = "foreign") {
    const { id, kind, payload, wire = null } = fields;
    this.id = id;
    this.kind = kind;
    const isForeign = content === "foreign";
    this.#isFrozen = content !== "own";
    this.payload = isForeign ? frozenJson(payload, "a block's payload") : payload;
    this.wire = isForeign ? frozenJson(wire, "a block's wire") : wire;
    if (isForeign) refuseSecrets(this.payload, "a block's payload");
    if (content === "elsewhere") {
      this.#content = null;
      Object.defineProperties(this, Block.#readLater);
    }
    // What a block is stands in its digest and in the log: an assignment would make it differ from both.
    Object.freeze(this);
  }

  /** @internal A block as an event holds it: with the digest that was computed when it was written (decision 0005). */
  static recorded(fields: BlockFields & { readonly digest: string }): Block {
    const block = new Block(fields, "own");
    block.#digest = fields.digest;
    return block;
  }

  /** Freezes the content of a block that was recorded: reading many of them is quick, because few are handed to others. */
  static freeze(block: Block): void {
    if (block.#isFrozen) return;
    block.#isFrozen = true;
    freezeJson(block.payload);
    freezeJson(block.wire);
  }

  /** A block that is known by what stands in a saved list: until it is filled, reading its content throws `content-not-read`. */
  static outline(known: { readonly id: BlockId; readonly kind: BlockKind; readonly digest: string }): Block {
    const block = new Block({ ...known, payload: {} }, "elsewhere");
    block.#digest = known.digest;
    return block;
  }

  /** Puts in the content of an outline, which was read from where it is stored. */
  static fill(outline: Block, { payload, wire }: Block): void {
    if (outline.#content !== null) return;
    freezeJson(payload);
    freezeJson(wire);
    outline.#content = { payload, wire };
  }

  /** Only id, kind and digest are at hand; the content is still where it is stored. */
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
  };

  get #contentRead(): Pick<Block, "payload" | "wire"> {
    return this.#content ?? notRead();
  }

  /** What the block is equal by (rule: Equal blocks): sha256 of the canonical JSON of its essence, computed once. */
  get digest(): string {
    this.#digest ??= sha256Hex(essenceText(this));
    return this.#digest;
  }

  /** What form of its kind it is: `message`, `reasoning`, `function`, `custom`, or what the provider calls it, `other` where it does not. */
  get type(): string {
    const { type } = this.payload;
    if (typeof type === "string") return type;
    return this.kind === "reasoning" || this.kind === "other" ? this.kind : "message";
  }

  /** The role of a message as it was sent (`system` is not `developer`); null for other blocks. */
  get role(): string | null {
    return textOrNull(this.payload["role"]);
  }

  /** The parts of a message's content; none for other blocks. */
  get parts(): readonly JsonObject[] {
    const { content } = this.payload;
    return this.role === null ? [] : objectsOf(content);
  }

  /** What a person reads of the block: message text, a call's arguments, a result's output, a reasoning summary. */
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

  /** The name of the tool that a call names; null for other blocks. */
  get name(): string | null {
    return textOrNull(this.payload["name"]);
  }

  /** The provider's id that pairs a call with its result. It may repeat in a conversation: pairing is positional. */
  get callId(): string | null {
    return textOrNull(this.payload["callId"]);
  }

  /** The arguments of a call, as the very string received: JSON, or free text where its type is `custom`; else empty. */
  get arguments(): string {
    return textOrEmpty(this.payload["arguments"]);
  }

  /**
   * The same block with another payload. What the provider issued was another content, so the wire residue goes; what
   * stays is that a response did not complete: an edit does not make its calls executable.
   */
  withPayload(payload: JsonObject): Block {
    const wire = this.wire?.partial === true ? { scope: this.wire.scope, partial: this.wire.partial } : null;
    return new Block({ id: this.id, kind: this.kind, payload, wire });
  }

  /**
   * The same block saying this text instead: the text of a message, a result's output, a call's arguments. Images, files and audio
   * beside the text stay: who wants them gone gives another payload (`withPayload`). The text that it has gives the block itself.
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

  /** The same content with another wire residue. */
  withWire(wire: Wire | null): Block {
    return wire === this.wire ? this : this.#copy({ id: this.id, wire: frozenJson(wire, "a block's wire") });
  }

  toJSON(): JsonObject {
    const json = { id: this.id, kind: this.kind, payload: this.payload };
    return this.wire === null ? json : { ...json, wire: this.wire };
  }

  #copy(changes: { readonly id: BlockId | null; readonly wire: Wire | null }): Block {
    const copy = new Block({ ...changes, kind: this.kind, payload: this.payload }, "own");
    // The wire decides the essence of what is equal by id only; everything else keeps its digest.
    if (changes.wire === this.wire) copy.#digest = this.#digest;
    return copy;
  }
}

/** @throws {TurnlogError} `content-not-read`, always. */
export function notRead(): never {
  throw new TurnlogError(
    "content-not-read",
    "only ids and digests of these blocks were read: ask for their content first",
  );
}

/** The id of a block that was recorded. A draft here is a bug. */
export function idOf(block: Block): BlockId {
  if (block.id === null) throw new Error("this block has no id yet: it was not recorded");
  return block.id;
}

/** Tells the given blocks by id, so that one from an older Turn is found in its present form; drafts by object. */
export function anyOf(blocks: readonly Block[]): (block: Block) => boolean {
  const [objects, ids] = [new Set(blocks), new Set(blocks.map((block) => block.id))];
  return (block) => objects.has(block) || (block.id !== null && ids.has(block.id));
}

/** Blocks that are kept elsewhere: how many, the digest of the Turn that ends with them, and the way to them. */
export type StoredBlocks = {
  readonly length: number;
  readonly digest: string;
  readonly read: () => readonly Block[];
};

function readable(value: JsonValue | undefined): string {
  if (typeof value === "string") return value;
  if (!isJsonList(value)) return value === undefined || value === null ? "" : JSON.stringify(value);
  return value.map((part) => (isJsonObject(part) ? (saidIn(part) ?? "") : "")).join("");
}
