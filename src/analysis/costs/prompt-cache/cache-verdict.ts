import type { CacheBoundaries } from "./cache-boundaries.ts";
import type { CacheUnit } from "./cache-prompt.ts";
import type { CacheRules } from "./cache-rules.ts";

/** Why a request read from the prompt cache what it read. Of several causes, the one that applies to the earliest part of the prompt. */
export type CacheCause =
  | "first"
  | "read"
  | "changed"
  | "tools-changed"
  | "setting-changed"
  | "other-partition"
  | "no-breakpoint"
  | "out-of-lookback"
  | "boundary-moved"
  | "below-minimum"
  | "expired"
  | "maybe-expired"
  | "not-yet-readable"
  /** Its entry should have been there: it was evicted, or another machine answered. */
  | "unexplained"
  /** It read more than turnlog's requests cached: another program of the account, or a tool of the server. */
  | "more-than-known"
  /** The answer does not report what was cached. */
  | "untold";

/** Tokens as the answer reported them; absent is not reported. `input` includes what was read from the cache. */
type CacheCounts = { readonly input?: number; readonly cacheRead?: number };

/** A request with its prompt, in the order in which they were made. */
export type CachedRequest = {
  /** The id of the request. */
  readonly id: string;
  /** When it began, in milliseconds. */
  readonly at: number;
  /** When its answer began; null if that is not known, or it had none. */
  readonly answerAt: number | null;
  readonly partition: string;
  readonly units: readonly CacheUnit[];
  /** A digest of everything up to each unit. */
  readonly prefixes: readonly string[];
  readonly boundaries: CacheBoundaries;
  readonly rules: CacheRules;
  readonly counts: CacheCounts | null;
};

/** A number of tokens, and whether it is exact or estimated from bytes. */
export type CacheTokens = { readonly tokens: number; readonly isAbout: boolean };

export type CacheVerdict = {
  readonly cause: CacheCause;
  /** What the cause would be by the rules alone, if the answer reported otherwise or nothing. */
  readonly foreseen: CacheCause;
  /** The earlier request that shares most with this one, and of several the newest. */
  readonly against: string | null;
  /** The first unit that is not shared with that request; null if all of its units are. */
  readonly unit: Pick<CacheUnit, "path" | "kind" | "name"> | null;
  /** How long ago the entry was last written or read, in milliseconds, if it expired or may have. */
  readonly idleMs: number | null;
  /** How much of the prompt is shared with that request; null if the answers report too little. */
  readonly shared: CacheTokens | null;
  /** What the request would read by the rules; null if the answers report too little. */
  readonly foreseenRead: CacheTokens | null;
  /** What the request would have read if nothing had been lost, and what of that it paid for again; null if the answer reported too little. */
  readonly expected: CacheTokens | null;
  readonly lost: CacheTokens | null;
};
