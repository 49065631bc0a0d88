import { hashOf } from "./ciphertext.ts";
import { type Link, tokensOf } from "./contexts.ts";
import { readItems } from "./readings.ts";
import { type JsonObject, typeOf } from "./wire.ts";

/**
 * The prompts that a server has read and still caches, chained or sent in full. Two prompts share a prefix if its settings and items
 * read the same, whatever their ids and ciphertexts (OpenAI's guide to prompt caching). Fronts, which always get the full prompt, use
 * `prefix-cache.ts`.
 */
export interface PromptCache {
  /** How many tokens of leading items in a context were read before with these settings. */
  cachedTokens(context: Link, settings: string): number;
  /** Stores every prefix of a context. */
  keep(context: Link, settings: string): void;
  clear(): void;
}

/** A place in a prompt: a digest of everything before it, and its length. */
interface Beginning {
  readonly digest: string;
  readonly tokens: number;
}

/** The places after the items of a link. */
interface Piece {
  readonly places: readonly Beginning[];
  readonly end: Beginning;
  /** It contains a compaction item: the model no longer reads anything before that. */
  readonly isFresh: boolean;
}

export function createPromptCache(): PromptCache {
  const known = new Set<string>();
  // Computed once per link and settings, so that a chain of a thousand steps is not read a thousand times.
  const pieces = new WeakMap<Link, Map<string, Piece>>();
  let kept = new WeakSet<Piece>();

  /** The pieces of a context, newest first, back to the one that starts with a compaction. */
  function* piecesOf(context: Link, settings: string): Generator<Piece> {
    const unread: Link[] = [];
    let read: Link | undefined = context;
    for (; read !== undefined && pieces.get(read)?.has(settings) !== true; read = read.parent) unread.push(read);
    let end = (read === undefined ? undefined : pieces.get(read)?.get(settings)?.end) ?? startOf(settings);
    for (const link of unread.reverse()) {
      const piece = pieceOf(link.items, { end, settings });
      pieces.set(link, (pieces.get(link) ?? new Map<string, Piece>()).set(settings, piece));
      end = piece.end;
    }
    for (let link: Link | undefined = context; link !== undefined; link = link.parent) {
      const piece = pieces.get(link)?.get(settings);
      if (piece === undefined) return;
      yield piece;
      if (piece.isFresh) return;
    }
  }

  return {
    cachedTokens(context, settings) {
      for (const { places } of piecesOf(context, settings)) {
        const place = places.findLast(({ digest }) => known.has(digest));
        if (place !== undefined) return place.tokens;
      }
      return 0;
    },
    keep(context, settings) {
      for (const piece of piecesOf(context, settings)) {
        if (kept.has(piece)) break;
        kept.add(piece);
        for (const { digest } of piece.places) known.add(digest);
      }
      for (const oldest of known) {
        if (known.size <= maxKept) break;
        known.delete(oldest);
      }
    },
    clear() {
      known.clear();
      kept = new WeakSet();
    },
  };
}

const maxKept = 100_000;

const startOf = (settings: string): Beginning => ({ digest: hashOf(settings), tokens: 0 });

function pieceOf(
  items: readonly JsonObject[],
  { end, settings }: { readonly end: Beginning; readonly settings: string },
): Piece {
  let places: Beginning[] = [];
  let isFresh = false;
  let at = end;
  for (const item of items) {
    if (typeOf(item) === "compaction") [at, places, isFresh] = [startOf(settings), [], true];
    const digest = hashOf([at.digest, ...readItems([item])].join("\n"));
    at = { digest, tokens: at.tokens + tokensOf([item]) };
    places.push(at);
  }
  return { places, end: at, isFresh };
}
