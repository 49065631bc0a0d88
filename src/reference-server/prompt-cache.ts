import { hashOf } from "./ciphertext.ts";
import { type Link, tokensOf } from "./contexts.ts";
import { readItems } from "./readings.ts";
import { type JsonObject, typeOf } from "./wire.ts";

/**
 * What a server still has of the prompts that it has read, chained or sent whole: the beginning of a prompt is the same where its
 * settings and its items read the same, whatever ids and ciphertexts they carry (OpenAI's guide to prompt caching). Fronts, which
 * get every prompt whole, have `prefix-cache.ts`.
 */
export interface PromptCache {
  /** How many tokens of its items a context begins with that were read before, under these settings. */
  cachedTokens(context: Link, settings: string): number;
  /** Keeps every beginning of a context. */
  keep(context: Link, settings: string): void;
  clear(): void;
}

/** A place in a prompt: what stands before it, and its length. */
interface Beginning {
  readonly digest: string;
  readonly tokens: number;
}

/** The places behind the items of a link. */
interface Piece {
  readonly places: readonly Beginning[];
  readonly end: Beginning;
  /** A compaction item stands in it: what came before is not read any more. */
  readonly isFresh: boolean;
}

export function createPromptCache(): PromptCache {
  const known = new Set<string>();
  // Of every link once for each settings: a chain of a thousand steps is not read a thousand times.
  const pieces = new WeakMap<Link, Map<string, Piece>>();
  let kept = new WeakSet<Piece>();

  /** The pieces of a context, the newest first, up to the one that a compaction begins. */
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
