import type { ConversationRegression } from "../../lab/conversation-result.ts";
import type { LabResult } from "../../lab/regress.ts";

/** What a thread compares, and with what. */
export type RegressTask = {
  /** The address of the store; null with a bundle. */
  readonly store: string | null;
  readonly bundle: string | null;
  /** The configuration that `--config` named; null to search for it as the command does. */
  readonly config: string | null;
  /** The changed stack, or of the stack that `without` leaves a layer out of; a file or a name. */
  readonly with: string;
  /** The stack to compare with; null for the recording. */
  readonly compareWith: string | null;
  readonly without: string | null;
  readonly recordedPolicies: boolean;
  readonly prices: string | null;
  readonly priceAs: Readonly<Record<string, string>> | null;
  /** Whether it is a day later there, and random numbers are others. */
  readonly isOtherWorld: boolean;
};

/** A conversation to compare, or, in the other world, one to compare with what was found before. */
export type ToThread = { readonly id: string; readonly found: LabResult | null };

export type FromThread =
  | { readonly kind: "ready" }
  | { readonly kind: "result"; readonly compared: LabResult }
  | { readonly kind: "again"; readonly result: ConversationRegression }
  | { readonly kind: "failed"; readonly message: string; readonly code: string | null };
