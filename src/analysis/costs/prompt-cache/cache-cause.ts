import type { CacheUnit } from "./cache-prompt.ts";
import type { CacheCause, CachedRequest, CacheTokens, CacheVerdict } from "./cache-verdict.ts";

/** A cache entry, as far as the rules and the times of requests say. */
export type KnownEntry = {
  /** The request that wrote it. */
  readonly by: string;
  /** When its answer began; null if that is not known. */
  readonly readableFrom: number | null;
  readonly usedAt: number;
  readonly leastMs: number;
  readonly mostMs: number;
  /** It is there until then, and gone after that. */
  readonly leastUntil: number;
  readonly mostUntil: number;
};

/** An earlier request, with a digest of everything up to each of its units, and the last place that it cached; -1 for none. */
export type KnownPrompt = {
  readonly request: CachedRequest;
  readonly prefixes: readonly string[];
  readonly lastWrite: number;
};

/** What is known when a verdict is given. */
export type Known = {
  readonly request: CachedRequest;
  readonly prefixes: readonly string[];
  readonly prompts: readonly KnownPrompt[];
  readonly entryAt: (place: number) => KnownEntry | undefined;
  readonly tokens: (place: number) => CacheTokens | null;
};

/** The verdict, and the last place of the entry that was read; -1 for none. */
export function verdictOn(known: Known): { readonly verdict: CacheVerdict; readonly read: number } {
  const { request, prompts } = known;
  const { at, counts, partition } = request;
  const own = nearest(
    known,
    prompts.filter((each) => each.request.partition === partition),
  );
  const anywhere = nearest(known, prompts);
  const isElsewhere = own === null || hasBytes(request, own.shared + 1, anywhere?.shared ?? -1);
  const against = isElsewhere ? anywhere : own;
  const read = deepest(known, (place, entry) => request.boundaries.looked.has(place) && isThere(entry, at));
  const foreseen =
    own === null || isElsewhere ? (against === null ? "first" : "other-partition") : foreseenCause(known, own, read);
  const told = counts?.cacheRead;
  const cause =
    told === undefined
      ? "untold"
      : toldCause(known, { foreseen, read, told, shared: Math.max(own?.shared ?? -1, anywhere?.shared ?? -1) });
  const expected = against === null ? null : expectedTokens(known, against);
  const entry = known.entryAt(deepest(known, (place) => place <= (against?.shared ?? -1)));
  const isTimed = cause === "expired" || cause === "maybe-expired";
  const unit = against === null ? null : differing(request, against);
  return {
    read,
    verdict: {
      ...{ cause, foreseen, against: against?.prompt.request.id ?? null, expected },
      shared: known.tokens(against?.shared ?? -1),
      foreseenRead: known.tokens(read),
      unit: unit === null ? null : { path: unit.path, kind: unit.kind, name: unit.name },
      idleMs: isTimed && entry !== undefined ? at - entry.usedAt : null,
      lost: expected === null || told === undefined ? null : lostOf(expected, { cause, told, input: counts?.input }),
    },
  };
}

/**
 * What was expected, was not read, and is in the prompt: what was removed from it was not paid for again. A request that read what it could lost
 * nothing: what is missing is less than the cache counts in.
 */
function lostOf(
  expected: CacheTokens,
  { cause, told, input }: { readonly cause: CacheCause; readonly told: number; readonly input: number | undefined },
): CacheTokens {
  if (cause === "read") return { tokens: 0, isAbout: false };
  const most = Math.min(expected.tokens, input ?? expected.tokens);
  return { ...expected, tokens: Math.max(0, most - told) };
}

type Nearest = { readonly prompt: KnownPrompt; readonly shared: number };

/** The prompt that shares most, and of several the newest. */
function nearest({ prefixes }: Known, prompts: readonly KnownPrompt[]): Nearest | null {
  let best: Nearest | null = null;
  for (const prompt of prompts.toReversed()) {
    const shared = equalPrefixes(prefixes, prompt.prefixes) - 1;
    if (best === null || shared > best.shared) best = { prompt, shared };
  }
  return best;
}

/** How many prefixes are the same. Each digest covers the ones before it, so those are equal too. */
function equalPrefixes(left: readonly string[], right: readonly string[]): number {
  let [low, high] = [0, Math.min(left.length, right.length)];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (left[middle - 1] === right[middle - 1]) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** What the rules say about a prompt that shares its partition with an earlier one. */
function foreseenCause(known: Known, { prompt, shared }: Nearest, read: number): CacheCause {
  const { request, entryAt } = known;
  const { boundaries, at } = request;
  if (boundaries.writes.size === 0 || prompt.request.boundaries.writes.size === 0) return "no-breakpoint";
  if (prompt.lastWrite < 0) return "below-minimum";
  const place = deepest(known, (each) => each <= shared);
  const entry = entryAt(place);
  if (entry !== undefined && place > read) {
    if (entry.mostUntil < at) return "expired";
    if (entry.readableFrom === null || entry.readableFrom > at) return "not-yet-readable";
    return boundaries.possible.has(place) ? "out-of-lookback" : "boundary-moved";
  }
  const unit = prompt.lastWrite > shared ? differing(request, { prompt, shared }) : null;
  if (unit === null) return "read";
  return unit.kind === "setting" ? "setting-changed" : unit.kind === "tool" ? "tools-changed" : "changed";
}

/** The foreseen cause, unless the answer reports that less was read, or more. */
function toldCause(
  { request, tokens, entryAt }: Known,
  given: { readonly foreseen: CacheCause; readonly read: number; readonly told: number; readonly shared: number },
): CacheCause {
  const { foreseen, read, told, shared } = given;
  const step = request.rules.stepTokens ?? unknownStep;
  const [foretold, most] = [tokens(read), tokens(shared)];
  if (foretold === null || most === null) return foreseen;
  // A cache that read anything reports at least the minimum.
  const isLess =
    told === 0
      ? foretold.tokens * (1 - shareOf(foretold)) >= Math.max(step, request.rules.minimumTokens ?? 0, 1)
      : told < leastOf(foretold, step);
  if (isLess) {
    const entry = entryAt(read);
    return entry !== undefined && entry.leastUntil < request.at ? "maybe-expired" : "unexplained";
  }
  return foreseen !== "read" && isMore(told, most, step) ? "more-than-known" : foreseen;
}

/** The fewest cached tokens that an answer may report for a prefix. Where its tokens are an estimate, it may be off by a step as well. */
function leastOf(prefix: CacheTokens, step: number): number {
  const { tokens, isAbout } = prefix;
  const inSteps = (number: number): number => number - (number % step);
  if (!isAbout) return inSteps(tokens);
  return Math.min(inSteps(tokens - tokens * shareOf(prefix)), inSteps(tokens) - step);
}

/** Whether an answer reports more cached tokens than a prefix can have, with the words that the server itself puts around it. */
const isMore = (told: number, prefix: CacheTokens, step: number): boolean =>
  told * (1 - shareOf(prefix)) > prefix.tokens + (prefix.isAbout ? step : 0) + serverTokens;

const shareOf = ({ isAbout }: CacheTokens): number => (isAbout ? aboutShare : 0);

/** The largest step that a vendor names. */
const unknownStep = 128;
const aboutShare = 0.15;
/** Marks of roles and the like, which no unit has. */
const serverTokens = 16;

/** What would have been read if nothing of the earlier prompt had been lost. */
function expectedTokens({ tokens }: Known, { prompt, shared }: Nearest): CacheTokens | null {
  const { request, lastWrite } = prompt;
  if (lastWrite <= shared) return tokens(lastWrite);
  const { counts, units } = request;
  if (counts?.input === undefined) return null;
  if (lastWrite === units.length - 1) return { tokens: counts.input, isAbout: false };
  const [part, whole] = [bytesTo(request, lastWrite), bytesTo(request, units.length - 1)];
  return { tokens: Math.round((counts.input * part) / Math.max(1, whole)), isAbout: true };
}

/** The first unit that differs: where a tool or the instructions are missing now, that of the earlier prompt. */
function differing({ units }: CachedRequest, { prompt, shared }: Nearest): CacheUnit | null {
  const now = units[shared + 1];
  const then = prompt.request.units[shared + 1];
  if (now === undefined || then === undefined) return now ?? null;
  if (now.kind === then.kind) return now;
  const isLost = now.kind === "block" || (now.kind === "setting" && then.kind !== "block");
  return isLost ? then : now;
}

const isThere = ({ readableFrom, mostUntil }: KnownEntry, at: number): boolean =>
  readableFrom !== null && readableFrom <= at && mostUntil >= at;

/** The deepest place with an entry that fits; -1 if there is none. */
const deepest = ({ prefixes, entryAt }: Known, fits: (place: number, entry: KnownEntry) => boolean): number =>
  prefixes.findLastIndex((_, place) => {
    const entry = entryAt(place);
    return entry !== undefined && fits(place, entry);
  });

/** Whether the units from one place to another have any bytes: settings have none. */
const hasBytes = ({ units }: CachedRequest, from: number, to: number): boolean =>
  units.slice(from, to + 1).some(({ bytes }) => bytes > 0);

const bytesTo = ({ units }: CachedRequest, place: number): number =>
  units.slice(0, place + 1).reduce((sum, { bytes }) => sum + bytes, 0);
