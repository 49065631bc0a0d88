import type { z } from "zod";
import type { regressedConversation } from "../documents/regression.ts";
import type { CounterfactualDocument } from "../documents/running.ts";

/*
 * What the page reads of another stack than the recorded one, and of a report of the regression lab.
 */

/** What can be asked: without a layer of the stack, or with the other one. */
export type WhatIfChoices = {
  readonly stack: { readonly file: string; readonly layers: readonly string[] } | null;
  /** The module of the other stack. */
  readonly other: string | null;
};

/** What would have been, once it is known: as `turnlog replay --without` and `--with` print it. */
export type WhatIfDocument = {
  readonly running: { readonly events: number; readonly total: number } | null;
  readonly result: CounterfactualDocument | null;
};

/** A line of two bodies beside each other; null on the side that lacks it. */
export type BodyRow =
  | { readonly kind: "same" | "changed"; readonly left: string | null; readonly right: string | null }
  /** Lines that are the same in both. */
  | { readonly kind: "fold"; readonly lines: number };

/** The bodies of a step, as it was sent and as it would have been. */
export type WhatIfStepDocument = {
  /** From 0. */
  readonly step: number;
  readonly recorded: { readonly revision: number | null; readonly bytes: number } | null;
  readonly otherwise: { readonly bytes: number } | null;
  /** Why the recorded body is not there; null if it is, or was never sent. */
  readonly problem: string | null;
  readonly rows: readonly BodyRow[];
  /** The first row that differs; null if none does. */
  readonly first: number | null;
  readonly hasMore: boolean;
};

type Regressed = z.infer<typeof regressedConversation>;

/** A report of `turnlog regress --report`: its conversations, of which each has its first differences. */
export type ReportDocument = {
  readonly file: string;
  readonly summary: {
    readonly with: string | null;
    readonly stack: string | null;
    readonly without: string | null;
    readonly conversations: number;
    readonly differing: number;
    readonly requests: number;
    readonly changed: number;
    readonly chains: number;
    readonly caches: number;
    readonly isComplete: boolean;
  };
  readonly from: number;
  readonly total: number;
  readonly conversations: readonly Regressed[];
};
