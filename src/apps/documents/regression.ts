import * as z from "zod";
import { conversation, count, list } from "./parts.ts";

const culprit = z.strictObject({
  kind: z.enum(["layer", "settings", "tool", "policy", "codec", "nondeterminism", "unknown"]),
  name: z.string(),
  /** Of a layer; null otherwise. */
  version: z.string().nullable(),
  how: z.string(),
  runId: z.string(),
  frame: z.string(),
  /** The first block of the request that differs, from 0. */
  block: count.nullable(),
  /** Of a layer where others acted, too: whether taking back its change changed the request; null elsewhere. */
  isConfirmed: z.boolean().nullable(),
});

/** Dollars as decimal text, which may be negative. */
const moreMoney = z.string().regex(/^-?\d+(\.\d+)?$/);

const counts = {
  requests: count,
  compared: count,
  changed: count,
  added: count,
  /** Runs that end otherwise, though no request of them differs. */
  ends: count,
  chains: count,
  caches: count,
  /** Reasoning blocks that are not sent any more. */
  reasoning: count,
  /** Requests that the log cannot answer, by reason. */
  unknown: z.record(z.string(), count).readonly(),
  /** About how much more it costs; null without prices. */
  money: moreMoney.nullable(),
  unpriced: count,
} as const;

const culpritCount = { name: z.string(), requests: count } as const;

const sentAs = z.strictObject({
  strategy: z.string(),
  reason: z.string().nullable(),
  bytes: count,
  requestDigest: z.string(),
});

const difference = z.strictObject({
  runId: z.string(),
  frame: z.string(),
  attempt: count,
  /** Of the recorded request; null if only the changed stack makes it. */
  revision: count.nullable(),
  isSame: z.boolean(),
  readsSame: z.boolean(),
  before: sentAs.nullable(),
  now: sentAs.nullable(),
  effect: z.strictObject({
    breaksChain: z.boolean(),
    breaksCache: z.boolean(),
    lostReasoning: count,
    size: z.number().nullable(),
    kept: z.number().nullable(),
  }),
  culprit,
  /** What else changes the request, if several layers differ. */
  others: list(culprit),
});

/** A conversation in a report, with its first differences. */
export const regressedConversation = z.strictObject({
  conversation,
  differs: z.boolean(),
  ...counts,
  culprits: list(z.strictObject(culpritCount)),
  first: culprit.nullable(),
  differences: list(difference),
  /** Why it could not be read to its end, or a run's context not be made; null if nothing like that happened. */
  message: z.string().nullable(),
});

/** `turnlog regress` */
export const regressionDocument = z.strictObject({
  /** The modules, and the layer that is left out. */
  with: z.string().nullable(),
  stack: z.string().nullable(),
  without: z.string().nullable(),
  conversations: count,
  differing: count,
  partlyUnknown: count,
  ...counts,
  first: z.strictObject({ ...culprit.shape, conversation }).nullable(),
  culprits: list(z.strictObject({ ...culpritCount, conversations: count })),
  /** False if it was interrupted. */
  isComplete: z.boolean(),
  allowance: z.strictObject({
    /** The file; null if there is none. */
    file: z.string().nullable(),
    isWithin: z.boolean(),
    allowed: count,
    beyond: z.strictObject({
      conversations: count,
      requests: count,
      caches: count,
      money: moreMoney.nullable(),
      nondeterministic: count,
    }),
    unused: list(z.strictObject({ conversation: z.string(), culprit: z.string() })),
  }),
  /** The first conversations that differ. */
  differs: list(z.strictObject({ conversation, changed: count, first: z.string() })),
});
export type RegressionDocument = z.infer<typeof regressionDocument>;
