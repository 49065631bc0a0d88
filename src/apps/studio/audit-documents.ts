import type { z } from "zod";
import type { ErasureOrderDocument } from "../documents/erasure-orders.ts";
import type { verifyDocument } from "../documents/stores.ts";

/*
 * What the page of the audit reads.
 */

/** How far a verification is, whose result the next answer has. */
export type AuditProgress = { readonly events: number; readonly total: number };

/** The last verification of a store by this studio. */
export type AuditResult = z.infer<typeof verifyDocument> & {
  readonly at: string;
  /** How many events the store had when it began, and how long it took. */
  readonly total: number;
  readonly ms: number;
};

export type AuditDocument = {
  /** False where texts are masked: digests do not follow from them. */
  readonly isPossible: boolean;
  readonly running: AuditProgress | null;
  readonly last: AuditResult | null;
  /** Why the last attempt could not be finished, which says nothing about the events. */
  readonly problem: string | null;
  /** How many events the store has now; null while it is being verified. */
  readonly events: number | null;
  readonly conversations: number | null;
  /** As `turnlog erase` lists them. */
  readonly orders: readonly ErasureOrderDocument[];
};

/** The newest event of a stream, and whether the last verification found it right. */
export type AuditHead = {
  readonly stream: string;
  readonly conversation: string | null;
  readonly revision: number;
  readonly digest: string;
  readonly isRight: boolean | null;
};

export type AuditHeadsPage = { readonly from: number; readonly total: number; readonly heads: readonly AuditHead[] };

/** All of it in one document, to keep. */
export type AuditReport = {
  readonly version: 1;
  readonly data: {
    readonly store: string;
    readonly verified: AuditResult | null;
    readonly erasures: readonly ErasureOrderDocument[];
    readonly heads: readonly AuditHead[];
  };
};
