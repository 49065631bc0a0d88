import { kindOf } from "../base/options.ts";
import { anyOf } from "./any-of.ts";
import { Block } from "./block.ts";
import { emptyContext, extendContext } from "./context.ts";
import { type Exchange, exchangesIn } from "./exchanges.ts";
import { type BlockId, namedBlockId } from "./ids.ts";
import type { StoredBlocks } from "./stored-blocks.ts";

/**
 * A conversation's ordered list of blocks, a frozen object. A Turn is a prefix (another Turn) and the blocks after it, so that
 * Turns share their common beginning: appending to a long Turn costs only what is appended, and the context digest of each place
 * in a shared prefix is computed once.
 *
 * The methods never change a Turn. Each returns a new Turn, or the same one if nothing changed.
 */
export class Turn {
  // `this`, because tsc replaces the name by an alias that is not yet set (microsoft/TypeScript#56292).
  static readonly empty: Turn = new this(null, []);

  /** The number of blocks. */
  readonly length: number;
  readonly #prefix: Turn | null;
  readonly #start: number;
  readonly #stored: StoredBlocks | null;
  #ownBlocks: readonly Block[] | undefined;
  #digests: readonly string[] | undefined;
  #isFrozen = false;
  #list: readonly Block[] | undefined;
  #blocks: readonly Block[] | undefined;
  #indexById: ReadonlyMap<BlockId, number> | undefined;
  #exchanges: readonly Exchange[] | undefined;
  /** Among the Turns that began with the same blocks, those that keep a list of their blocks. */
  readonly #listed: Turn[];

  private constructor(prefix: Turn | null, tail: readonly Block[] | StoredBlocks) {
    this.#prefix = prefix;
    this.#start = prefix?.length ?? 0;
    this.#listed = prefix === null ? [] : prefix.#listed;
    this.length = this.#start + tail.length;
    this.#stored = "read" in tail ? tail : null;
    if (!("read" in tail)) this.#ownBlocks = tail;
    Object.freeze(this);
  }

  static of(blocks: readonly Block[]): Turn {
    return Turn.empty.concat(blocks);
  }

  /** @internal The Turn followed by blocks that are read on first use; its length and digest are known beforehand. */
  static stored(prefix: Turn, blocks: StoredBlocks): Turn {
    return blocks.length === 0 ? prefix : new Turn(prefix.length === 0 ? null : prefix, blocks);
  }

  /** All blocks, in order. */
  get blocks(): readonly Block[] {
    // A copy, because V8 is slow to slice a frozen list.
    this.#blocks ??= Object.freeze(this.#whole.slice());
    return this.#blocks;
  }

  /** Each user message with what follows it. Blocks before the first user message belong to no exchange. */
  get exchanges(): readonly Exchange[] {
    this.#exchanges ??= exchangesIn(this.#whole);
    return this.#exchanges;
  }

  /** The n-th exchange from 0; a negative number counts from the end. */
  exchange(n: number): Exchange | undefined {
    return Number.isInteger(n) ? this.exchanges.at(n) : undefined;
  }

  /** The digest of the whole list (rule: Contexts and anchors): identifies a server context that holds exactly these blocks. */
  get digest(): string {
    if (this.#digests === undefined && this.#stored !== null) return this.#stored.digest;
    return this.#tailDigests().at(-1) ?? this.#prefix?.digest ?? emptyContext;
  }

  get last(): Block | undefined {
    return this.#tail.at(-1) ?? this.#prefix?.last;
  }

  /** The block at an index; a negative index counts from the end. */
  at(index: number): Block | undefined {
    const place = index < 0 ? this.length + index : index;
    if (place < 0 || place >= this.length) return undefined;
    for (const segment of Turn.#segments(this)) {
      if (segment.#list !== undefined) return segment.#list[place];
      if (segment.#start <= place) return segment.#tail[place - segment.#start];
    }
    return undefined;
  }

  find(id: BlockId): Block | undefined {
    const index = this.indexOf(id);
    return index < 0 ? undefined : this.at(index);
  }

  indexOf(id: BlockId): number {
    // Plain loops: every pass of every step searches for its new blocks, which are not there.
    let [segment]: [Turn | null] = [this];
    for (; segment !== null; segment = segment.#prefix) {
      if (segment.#indexById !== undefined) return segment.#indexById.get(id) ?? -1;
      const tail = segment.#tail;
      if (this.length - segment.#start > maxSearched) break;
      for (let index = 0; index < tail.length; index += 1) if (tail[index]?.id === id) return segment.#start + index;
    }
    const indexById = new Map<BlockId, number>();
    for (const [index, block] of this.#whole.entries()) if (block.id !== null) indexById.set(block.id, index);
    this.#indexById = indexById;
    return indexById.get(id) ?? -1;
  }

  /** The blocks from an index to the end. The cost depends on the number returned. */
  after(index: number): readonly Block[] {
    const from = Math.max(0, index);
    const parts: (readonly Block[])[] = [];
    // How many blocks of the last part, the earliest of the Turn, are before the index.
    let before = 0;
    for (const segment of Turn.#segments(this)) {
      if (segment.length <= from) break;
      const start = segment.#list === undefined ? segment.#start : 0;
      parts.push(segment.#list ?? segment.#tail);
      before = Math.max(0, from - start);
      if (start <= from) break;
    }
    const blocks = parts.pop()?.slice(before) ?? [];
    for (const part of parts.reverse()) for (const block of part) blocks.push(block);
    return blocks;
  }

  /** The digest of the first `length` blocks. */
  contextAt(length: number): string {
    if (length <= 0) return emptyContext;
    const segment = this.#segmentAt(Math.min(length, this.length) - 1);
    return segment.#tailDigests()[length - segment.#start - 1] ?? this.digest;
  }

  /** The digests of all prefixes, longest first, the empty one last: the order in which the planner looks up anchors. */
  *contexts(): Generator<{ readonly length: number; readonly digest: string }> {
    for (const segment of Turn.#segments(this)) {
      const digests = segment.#tailDigests();
      for (let index = digests.length - 1; index >= 0; index -= 1) {
        yield { length: segment.#start + index + 1, digest: digests[index] ?? emptyContext };
      }
    }
    yield { length: 0, digest: emptyContext };
  }

  /** How many leading blocks are the same objects. The prefix that two Turns share by descent costs nothing. */
  commonPrefixLength(other: Turn): number {
    let shared = this.#sharedLength(other);
    const most = Math.min(this.length, other.length);
    const isShort = most - shared <= maxSearched;
    const [left, right] = isShort ? [this.after(shared), other.after(shared)] : [this.#whole, other.#whole];
    const offset = isShort ? shared : 0;
    while (shared < most && left[shared - offset] === right[shared - offset]) shared += 1;
    return shared;
  }

  append(...blocks: readonly Block[]): Turn {
    return this.#extend(blocks);
  }

  /** Appends a list of any length. */
  concat(blocks: readonly Block[]): Turn {
    return this.#extend(blocks.slice());
  }

  /** The first `length` blocks. */
  slice(length: number): Turn {
    if (length >= this.length) return this;
    if (length <= 0) return Turn.empty;
    const segment = this.#segmentAt(length - 1);
    if (segment.length === length) return segment;
    const start = segment.#start;
    const begun = (segment.#prefix ?? Turn.empty).#extend(segment.#tail.slice(0, length - start));
    begun.#digests = segment.#digests?.slice(0, length - start);
    return begun;
  }

  /** Inserts blocks, the first of them at `index` of the result. */
  insert(index: number, ...blocks: readonly Block[]): Turn {
    return blocks.length === 0 ? this : this.slice(index).#extend([...blocks, ...this.after(index)]);
  }

  /**
   * Inserts a block unless one was already inserted with this key: for a layer that runs before every step. The key becomes the block's
   * id, so this also works across steps, runs and restarts, and after the block's content has changed.
   */
  insertOnce(key: string, block: Block, index: number = this.length): Turn {
    checkedBlock(block);
    const id = namedBlockId(`turnlog/insertion/v1\n${key}`);
    return this.indexOf(id) >= 0 ? this : this.insert(index, block.withId(id));
  }

  /** Replaces a block by another, under the same id. */
  replace(block: Block, replacement: Block): Turn {
    return this.replaceEach([block], () => replacement);
  }

  /** Replaces each of the given blocks by the result of `change`, under the same ids. */
  replaceEach(blocks: readonly Block[], change: (block: Block) => Block): Turn {
    const isNamed = anyOf(blocks);
    return this.map((block) => (isNamed(block) ? checkedBlock(change(block)).withId(block.id) : block));
  }

  /** Replaces every block by the result of `change`. The result shares the blocks before the first change. */
  map(change: (block: Block) => Block): Turn {
    return this.with(this.#whole.map((block) => change(block)));
  }

  filter(keep: (block: Block) => boolean): Turn {
    return this.with(this.#whole.filter((block) => keep(block)));
  }

  remove(...blocks: readonly Block[]): Turn {
    const isNamed = anyOf(blocks);
    return this.filter((block) => !isNamed(block));
  }

  /** Moves a block to `index` of the result. */
  move(block: Block, index: number): Turn {
    const own = this.#whole.find(anyOf([block]));
    return own === undefined ? this : this.with(this.remove(own).insert(index, own).#whole);
  }

  /** The Turn with these blocks. It shares the beginning that equals this one's. */
  with(blocks: readonly Block[]): Turn {
    const own = this.#whole;
    let same = 0;
    while (same < blocks.length && blocks[same] === own[same]) same += 1;
    return this.slice(same).#extend(blocks.slice(same));
  }

  /** The same Turn with frozen blocks, for code that could change their content. */
  frozen(): this {
    for (const segment of Turn.#segments(this)) {
      if (segment.#isFrozen) break;
      segment.#isFrozen = true;
      // Blocks that have not been read from storage have no content to freeze.
      for (const block of segment.#ownBlocks ?? []) Block.freeze(block);
    }
    return this;
  }

  toJSON(): readonly Block[] {
    return this.blocks;
  }

  /** With blocks appended. The array becomes part of the new Turn. */
  #extend(tail: readonly Block[]): Turn {
    for (const block of tail) checkedBlock(block);
    return tail.length === 0 ? this : new Turn(this.length === 0 ? null : this, tail);
  }

  /** All blocks, in a list that is fast to copy from. */
  get #whole(): readonly Block[] {
    if (this.#list === undefined) {
      this.#list = this.#prefix === null ? this.#tail : this.after(0);
      this.#forgetOldLists();
    }
    return this.#list;
  }

  /** A long conversation is a chain of Turns with branches. If each kept the list of its blocks, and its index, memory would grow with the square. */
  #forgetOldLists(): void {
    if (this.#prefix === null) return;
    const oldest = this.#listed.length < maxKeptLists ? undefined : this.#listed.shift();
    if (oldest !== undefined) {
      oldest.#list = undefined;
      oldest.#blocks = undefined;
      oldest.#indexById = undefined;
    }
    this.#listed.push(this);
  }

  /** The blocks of this Turn after its prefix. */
  get #tail(): readonly Block[] {
    this.#ownBlocks ??= this.#stored?.read() ?? [];
    return this.#ownBlocks;
  }

  /** The Turn and its prefixes, longest first. */
  static *#segments(turn: Turn): Generator<Turn> {
    for (let segment: Turn | null = turn; segment !== null; segment = segment.#prefix) yield segment;
  }

  #segmentAt(place: number): Turn {
    for (const segment of Turn.#segments(this)) if (segment.#start <= place) return segment;
    return this;
  }

  #tailDigests(): readonly string[] {
    if (this.#digests !== undefined) return this.#digests;
    // A loop, not recursion: a conversation may be ten thousand appends deep.
    const missing: Turn[] = [];
    for (const segment of Turn.#segments(this)) {
      const isKnown = segment.#digests !== undefined || (segment !== this && segment.#stored !== null);
      if (isKnown) break;
      missing.push(segment);
    }
    let digests: readonly string[] = [];
    for (const turn of missing.reverse()) {
      let context = turn.#prefix?.digest ?? emptyContext;
      digests = turn.#tail.map((block) => {
        context = extendContext(context, block.recordedAs);
        return context;
      });
      turn.#digests = digests;
    }
    return digests;
  }

  #sharedLength(other: Turn): number {
    let [left, right]: [Turn | null, Turn | null] = [this, other];
    while (left !== null && right !== null) {
      if (left === right) return left.length;
      if (left.length >= right.length) left = left.#prefix;
      else right = right.#prefix;
    }
    return 0;
  }
}

/** How many blocks to search for an id before building an index of all. */
const maxSearched = 256;
/** How many Turns that began with the same blocks keep the list of their blocks, and its index. */
const maxKeptLists = 16;

/** @throws {TypeError} if the value is not a block: JavaScript and `any` get past the types. */
function checkedBlock(block: unknown): Block {
  if (block instanceof Block) return block;
  throw new TypeError(
    `a Turn is made of blocks, but this is ${kindOf(block)}: write user("…"), or block.withText("…")`,
  );
}
