import type { Entry } from "../src/testing/rehearsal/entries.ts";

/** A block of a client that has ids and marks, but no digests: an edit changes neither. */
export type MarkedBlock = {
  readonly id: string;
  readonly entry: Entry;
  /** The response that it came in. */
  readonly responseId: string | null;
  /** For a call and its result, the number of the call in the request. */
  readonly call: number | null;
};

/** What the server held after the newest response. */
export type Snapshot = { readonly responseId: string; readonly blocks: readonly MarkedBlock[] };

export type Choice = { readonly anchor: string | null; readonly send: readonly MarkedBlock[] };

/** A published design: chooses what to continue from, and what to send. */
export type PublishedStrategy = (turn: readonly MarkedBlock[], newest: Snapshot | null) => Choice;

/** Way 0: continues from the latest response whose blocks are still contiguous; sends what follows them. */
export const contiguityCheck: PublishedStrategy = (turn) => {
  const responses = new Set(turn.map(({ responseId }) => responseId));
  for (const anchor of [...responses].reverse()) {
    if (anchor === null) continue;
    const first = turn.findIndex(({ responseId }) => responseId === anchor);
    const last = turn.findLastIndex(({ responseId }) => responseId === anchor);
    if (turn.slice(first, last).every(({ responseId }) => responseId === anchor))
      return { anchor, send: turn.slice(last + 1) };
  }
  return { anchor: null, send: turn };
};

/** Ways 1, 2 and 3: continue from the newest response; send the blocks whose ids it does not know, however that is tracked. */
export const diffById: PublishedStrategy = (turn, newest) => {
  if (newest === null) return { anchor: null, send: turn };
  const known = new Set(newest.blocks.map(({ id }) => id));
  return { anchor: newest.responseId, send: turn.filter(({ id }) => !known.has(id)) };
};

/** Way 2, if edits are noticed: continues from the newest response if it is still a prefix of the Turn, otherwise sends everything. */
export const newestOrAll: PublishedStrategy = (turn, newest) => {
  if (newest === null || newest.blocks.some(({ entry }, index) => turn[index]?.entry !== entry))
    return { anchor: null, send: turn };
  return { anchor: newest.responseId, send: turn.slice(newest.blocks.length) };
};
