import { type Anchor, type AnchorId, anchorName } from "../../domain/anchor.ts";
import type { BoundDigest } from "../../domain/events/inference-events.ts";

/**
 * Why a request cannot continue from a response, by name (`incomplete`, `no-id`, `not-stored`, `suspect`, `masked`, `prompted`, or the
 * codec's own); null if it can, as far as the log says.
 */
export type Unusable = string | null;

/** What a provider's server holds after one response: input and output, as digests (rule: Contexts and anchors). */
export type ServerContext = {
  readonly responseId: string;
  /** The anchor for a request that continues from it; null if there is none. */
  readonly anchor: Anchor | null;
  readonly inferenceId: string;
  /** The stream of its answer; for a fork, it may be an ancestor's. */
  readonly stream: string;
  readonly revision: number;
  /** Its index among all contexts known to the lineage. */
  readonly index: number;
  readonly at: string;
  readonly scope: string;
  readonly settingsDigest: string;
  /** The outgoing Turn followed by the output: the key for looking up anchors. */
  readonly turn: string;
  /** The same as shaped for the request: what the server actually holds. */
  readonly held: string;
  /** The number of blocks of the Turn without the output, and with it. */
  readonly inputLength: number;
  readonly length: number;
  /** The anchor that it continued from. */
  readonly parent: AnchorId | null;
  readonly unusable: Unusable;
  /** The tokens of input and output together, as the endpoint counted them; null if it did not report them. */
  readonly tokens: number | null;
  /** The prefix that the answer's reasoning is bound to; absent if its request does not say. */
  readonly bound?: BoundDigest;
};

/** Contexts of a saved fold, still as text: parsed when one of them may be needed. */
export type StoredContexts = {
  readonly length: number;
  /** Whether the text contains this digest or id, so that one of the contexts may have it. */
  readonly mayHave: (word: string) => boolean;
  readonly read: () => readonly ServerContext[];
};

/** The first so many contexts of another fold, which may go on. */
type Beginning = { readonly of: KnownContexts; readonly length: number };

type NamedAnchor = { readonly scope: string; readonly anchor: AnchorId };

/**
 * The contexts that a fold knows, in log order, indexed by Turn and by anchor. No request can continue from a context without an anchor;
 * it is kept for its token count. A copy shares those of the original with their index, and has its own for what it adds.
 */
export class KnownContexts {
  /** Those that were known to another fold, of which this one is a copy. */
  readonly #beginning: Beginning | null;
  readonly #ofTurn = new Map<string, ServerContext[]>();
  readonly #ofInference = new Map<string, ServerContext>();
  readonly #byAnchor = new Map<string, ServerContext>();
  /** The contexts of saved folds come first, part by part. */
  readonly #parts: { readonly stored: StoredContexts; read: readonly ServerContext[] | null }[] = [];
  readonly #added: ServerContext[] = [];
  /** How many contexts are indexed: a fold of a whole log adds thousands, and rarely looks one up. */
  #indexed = 0;
  #storedLength = 0;
  /** How many searches of the texts found nothing. */
  #misses = 0;

  constructor(beginning: Beginning | null = null) {
    this.#beginning = beginning;
  }

  copy(): KnownContexts {
    if (this.#beginning === null) return new KnownContexts({ of: this, length: this.length });
    // Copies of copies share the same beginning, so that a search never passes more than two of these.
    const copy = new KnownContexts(this.#beginning);
    for (const context of this.#added) copy.add(context);
    return copy;
  }

  get length(): number {
    return this.#lengthBefore + this.#added.length;
  }

  get last(): ServerContext | undefined {
    if (this.#added.length > 0) return this.#added.at(-1);
    const part = this.#parts.at(-1);
    return part === undefined ? this.#beginning?.of.all[this.#beginning.length - 1] : this.#read(part).at(-1);
  }

  get all(): readonly ServerContext[] {
    if (this.#beginning === null && this.#parts.length === 0) return this.#added;
    const inherited = this.#beginning?.of.all.slice(0, this.#beginning.length) ?? [];
    return inherited.concat(...this.#parts.map((part) => this.#read(part)), this.#added);
  }

  /** The first answer after index `count` that continued from an anchor; null if there is none. */
  continuationOf({ scope, anchor }: NamedAnchor, count: number): ServerContext | null {
    const isIts = ({ parent }: ServerContext): boolean => parent?.id === anchor.id && parent.kind === anchor.kind;
    return this.after(count).find((each) => each.scope === scope && isIts(each)) ?? null;
  }

  /** The contexts from index `count` on. */
  after(count: number): readonly ServerContext[] {
    const before = this.#lengthBefore;
    return count < before ? this.all.slice(count) : this.#added.slice(count - before);
  }

  /** The contexts with this Turn digest that a request can continue from, in log order. */
  byTurn(digest: string): readonly ServerContext[] {
    return this.ofTurn(digest).filter(({ anchor }) => anchor !== null);
  }

  /** All contexts whose Turn has this digest, in log order. */
  ofTurn(digest: string): readonly ServerContext[] {
    this.#look(digest);
    const own = this.#ofTurn.get(digest) ?? [];
    if (this.#beginning === null) return own;
    const { of, length } = this.#beginning;
    return [...of.ofTurn(digest).filter(({ index }) => index < length), ...own];
  }

  /** The newest context with this anchor of an endpoint. */
  byAnchor(named: NamedAnchor): ServerContext | null {
    const name = anchorName(named);
    const isIts = (each: ServerContext): boolean => each.anchor !== null && anchorName(each) === name;
    this.#look(named.anchor.id);
    return this.#byAnchor.get(name) ?? this.#inherited(isIts, (of) => of.byAnchor(named));
  }

  /** The context after the answer to a request. */
  ofInference(inferenceId: string): ServerContext | null {
    const isIts = (each: ServerContext): boolean => each.inferenceId === inferenceId;
    this.#look(inferenceId);
    return this.#ofInference.get(inferenceId) ?? this.#inherited(isIts, (of) => of.ofInference(inferenceId));
  }

  /** The newest one of the beginning: that of the other fold, unless that fold learnt of it later. */
  #inherited(
    isIts: (context: ServerContext) => boolean,
    find: (of: KnownContexts) => ServerContext | null,
  ): ServerContext | null {
    if (this.#beginning === null) return null;
    const { of, length } = this.#beginning;
    const found = find(of);
    if (found === null || found.index < length) return found;
    return of.all.slice(0, length).findLast(isIts) ?? null;
  }

  add(context: ServerContext): void {
    this.#added.push(context);
  }

  /** Adds the contexts of a saved fold; all others must be added later. */
  store(stored: StoredContexts): void {
    this.#parts.push({ stored, read: null });
    this.#storedLength += stored.length;
  }

  /** How many there are before those that were added here. */
  get #lengthBefore(): number {
    return (this.#beginning?.length ?? 0) + this.#storedLength;
  }

  #look(word: string): void {
    for (const context of this.#added.slice(this.#indexed)) this.#index(context);
    this.#indexed = this.#added.length;
    const unread = this.#parts.filter(({ read }) => read === null);
    if (unread.length === 0) return;
    // After many misses (as when comparing an edited Turn), parse and index everything: that costs less than further searches.
    const isSearched = this.#misses < maxMisses;
    const found = isSearched ? unread.filter(({ stored }) => stored.mayHave(word)) : unread;
    for (const part of found) this.#read(part);
    if (found.length === 0) this.#misses += 1;
  }

  #read(part: { readonly stored: StoredContexts; read: readonly ServerContext[] | null }): readonly ServerContext[] {
    if (part.read === null) {
      part.read = part.stored.read();
      for (const context of part.read) this.#index(context);
    }
    return part.read;
  }

  #index(context: ServerContext): void {
    this.#ofInference.set(context.inferenceId, context);
    const sharing = this.#ofTurn.get(context.turn);
    // Older contexts may be read after newer ones.
    if (sharing === undefined) this.#ofTurn.set(context.turn, [context]);
    else sharing.splice(sharing.findLastIndex(({ index }) => index < context.index) + 1, 0, context);
    if (context.anchor === null) return;
    const name = anchorName(context);
    if ((this.#byAnchor.get(name)?.index ?? -1) < context.index) this.#byAnchor.set(name, context);
  }
}

const maxMisses = 16;
