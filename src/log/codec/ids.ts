import { customAlphabet } from "nanoid";

// Without `-`, so that a double click selects the whole id.
const letters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";
const draw = customAlphabet(letters, 21);

/** A new id: the prefix, `_`, and 21 characters. */
export const randomId = (prefix: string): string => `${prefix}_${draw()}`;

/** Generates event ids: random UUIDs of version 7, each greater as a text than the one before in this process. */
export type EventIds = () => string;

export type EventIdSources = {
  /** Milliseconds since 1970. */
  readonly clock?: () => number;
  /** A random UUID of version 4, whose last 62 random bits are used. */
  readonly randomUuid?: () => string;
};

/**
 * Creates a generator. A 12-bit counter in place of `rand_a` orders the ids of one millisecond (RFC 9562, 6.2, method 1). If the
 * clock stops or goes back, the generator runs ahead of it, so the order holds.
 */
export function createEventIds(sources: EventIdSources = {}): EventIds {
  const { clock = Date.now, randomUuid = () => crypto.randomUUID() } = sources;
  const nextTail = createTails(randomUuid);
  let lastMs = 0;
  let counter = 0;
  let time = "";
  const moveTo = (ms: number): void => {
    lastMs = ms;
    counter = 0;
    const digits = ms.toString(16).padStart(12, "0");
    time = `${digits.slice(0, 8)}-${digits.slice(8)}-7`;
  };
  return () => {
    const nowMs = clock();
    if (nowMs > lastMs) moveTo(nowMs);
    else if (counter === maxCounter) moveTo(lastMs + 1);
    else counter += 1;
    return `${time}${counter.toString(16).padStart(3, "0")}${nextTail()}`;
  };
}

/** How many random tails to generate at once: a single UUID, right after a wait for the disk, takes several times as long. */
const tailsAtOnce = 64;

/** Reduces random UUIDs to the part after `rand_a`: the dash, the variant and the last 62 random bits. */
function createTails(randomUuid: () => string): () => string {
  let tails = "";
  let next = 0;
  return () => {
    if (next === tails.length) {
      tails = Array.from({ length: tailsAtOnce }, () => randomUuid().slice(tailStart)).join("");
      next = 0;
    }
    const tail = tails.slice(next, next + tailLength);
    next += tailLength;
    return tail;
  };
}

const tailStart = "00000000-0000-4000".length;
const tailLength = "-8000-000000000000".length;

const maxCounter = 0xfff;
