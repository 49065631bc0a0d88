import { type Anchor, type AnchorId, anchorName } from "../domain/anchor.ts";
import type { BoundDigest } from "../domain/events/inference-events.ts";

/**
 * Why a response cannot be continued from, by name (`incomplete`, `no-id`, `not-stored`, `suspect`, `masked`, `prompted`, or what its codec
 * says); null when it can, as far as the log tells.
 */
export type Unusable = string | null;

/** What a provider's server holds after one response: its input followed by its output, as digests (rule: Contexts and anchors). */
export type ServerContext = {
  readonly responseId: string;
  /** What a request names to continue from it; null where there is nothing to name. */
  readonly anchor: Anchor | null;
  readonly inferenceId: string;
  /** Where its answer stands: of a fork, it may be in an ancestor's stream. */
  readonly stream: string;
  readonly revision: number;
  /** Its place among all that the lineage knows. */
  readonly index: number;
  readonly at: string;
  readonly scope: string;
  readonly settingsDigest: string;
  /** The outgoing Turn, then the output: what anchors are looked up by. */
  readonly turn: string;
  /** The same as it was shaped for the request: what the server really holds. */
  readonly held: string;
  /** Blocks of the Turn before the output, and with it. */
  readonly inputLength: number;
  readonly length: number;
  /** What it continued from. */
  readonly parent: AnchorId | null;
  readonly unusable: Unusable;
  /** What the endpoint counted of it: the tokens of input and output together; null where it told none. */
  readonly tokens: number | null;
  /** What the reasoning of the answer is bound to; absent where its request does not say. */
  readonly bound?: BoundDigest;
};

/** Contexts of which a saved fold has the text: they are read when one of them may be asked for. */
export type StoredContexts = {
  readonly length: number;
  /** Whether the text has this digest or id, so that one of them may be of it. */
  readonly mayHave: (word: string) => boolean;
  readonly read: () => readonly ServerContext[];
};

type NamedAnchor = { readonly scope: string; readonly anchor: AnchorId };

/**
 * The contexts that a fold knows, in the order of the log, by the Turn that they are of and by the anchor that names them. One
 * without an anchor is never continued from: it says what its endpoint counted.
 */
export class KnownContexts {
  readonly #ofTurn = new Map<string, ServerContext[]>();
  readonly #ofInference = new Map<string, ServerContext>();
  readonly #byAnchor = new Map<string, ServerContext>();
  /** What a saved fold had comes first, part by part. */
  readonly #parts: { readonly stored: StoredContexts; read: readonly ServerContext[] | null }[] = [];
  readonly #added: ServerContext[] = [];
  /** How many of these can be looked up: a fold of a whole log adds thousands, and mostly looks for none. */
  #indexed = 0;
  #storedLength = 0;
  /** How often the texts were looked through for nothing. */
  #misses = 0;

  get length(): number {
    return this.#storedLength + this.#added.length;
  }

  get last(): ServerContext | undefined {
    const part = this.#parts.at(-1);
    return this.#added.at(-1) ?? (part === undefined ? undefined : this.#read(part).at(-1));
  }

  get all(): readonly ServerContext[] {
    return this.#parts.length === 0
      ? this.#added
      : [...this.#parts.flatMap((part) => this.#read(part)), ...this.#added];
  }

  /** The first answer after so many that continued from an anchor; null where none did. */
  continuationOf({ scope, anchor }: NamedAnchor, count: number): ServerContext | null {
    const isIts = ({ parent }: ServerContext): boolean => parent?.id === anchor.id && parent.kind === anchor.kind;
    return this.after(count).find((each) => each.scope === scope && isIts(each)) ?? null;
  }

  /** Those that came after so many. */
  after(count: number): readonly ServerContext[] {
    return count < this.#storedLength ? this.all.slice(count) : this.#added.slice(count - this.#storedLength);
  }

  /** Those that hold the Turn of this digest and have a name to be continued by, in the order of the log. */
  byTurn(digest: string): readonly ServerContext[] {
    return this.ofTurn(digest).filter(({ anchor }) => anchor !== null);
  }

  /** All that were answered with the Turn of this digest as their end, in the order of the log. */
  ofTurn(digest: string): readonly ServerContext[] {
    this.#look(digest);
    return this.#ofTurn.get(digest) ?? [];
  }

  /** The newest that an endpoint gave this anchor for. */
  byAnchor(named: NamedAnchor): ServerContext | null {
    this.#look(named.anchor.id);
    return this.#byAnchor.get(anchorName(named)) ?? null;
  }

  /** The answer to a request. */
  ofInference(inferenceId: string): ServerContext | null {
    this.#look(inferenceId);
    return this.#ofInference.get(inferenceId) ?? null;
  }

  add(context: ServerContext): void {
    this.#added.push(context);
  }

  /** Adds what a saved fold had, before all that is added else. */
  store(stored: StoredContexts): void {
    this.#parts.push({ stored, read: null });
    this.#storedLength += stored.length;
  }

  #look(word: string): void {
    for (const context of this.#added.slice(this.#indexed)) this.#index(context);
    this.#indexed = this.#added.length;
    const unread = this.#parts.filter(({ read }) => read === null);
    if (unread.length === 0) return;
    // Who asks for much that is not there compares a Turn that was edited: an index costs less than all these searches.
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
    // Older ones may be read after newer ones.
    if (sharing === undefined) this.#ofTurn.set(context.turn, [context]);
    else sharing.splice(sharing.findLastIndex(({ index }) => index < context.index) + 1, 0, context);
    if (context.anchor === null) return;
    const name = anchorName(context);
    if ((this.#byAnchor.get(name)?.index ?? -1) < context.index) this.#byAnchor.set(name, context);
  }
}

const maxMisses = 16;
