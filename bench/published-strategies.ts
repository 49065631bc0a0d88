import type { Entry } from "../src/rehearsal/entries.ts";

/** A block of a client that has ids and marks, and no digests: an edit leaves both as they are. */
export type MarkedBlock = {
  readonly id: string;
  readonly entry: Entry;
  /** The response that it came in. */
  readonly responseId: string | null;
  /** Of a call and its result, the ordinal of the call in what is to be sent. */
  readonly call: number | null;
};

/** What the server held after the newest response. */
export type Snapshot = { readonly responseId: string; readonly blocks: readonly MarkedBlock[] };

export type Choice = { readonly anchor: string | null; readonly send: readonly MarkedBlock[] };

/** Chooses what to continue from and what to send, as a published design has it. */
export type PublishedStrategy = (turn: readonly MarkedBlock[], newest: Snapshot | null) => Choice;

/** Way 0: the latest response whose blocks stand together; what stands behind them is sent. */
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

/** Ways 1, 2 and 3: the newest response; what is sent are the blocks whose ids it does not know, however that is kept. */
export const diffById: PublishedStrategy = (turn, newest) => {
  if (newest === null) return { anchor: null, send: turn };
  const known = new Set(newest.blocks.map(({ id }) => id));
  return { anchor: newest.responseId, send: turn.filter(({ id }) => !known.has(id)) };
};

/** Way 2, where edits are seen: the newest response if it is still a beginning of the Turn, else everything. */
export const newestOrAll: PublishedStrategy = (turn, newest) => {
  if (newest === null || newest.blocks.some(({ entry }, index) => turn[index]?.entry !== entry))
    return { anchor: null, send: turn };
  return { anchor: newest.responseId, send: turn.slice(newest.blocks.length) };
};
