import type { ConversationRegression } from "../../../replay/regression/conversation-result.ts";
import type { LabResult } from "../../../replay/regression/regress.ts";
import type { LayerCell } from "./layer-cell.ts";

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

/** What a thread is started with. */
export type ThreadData = { readonly task: RegressTask; readonly atWork: LayerCell };

/** A conversation to compare, or one of which nothing is known because of `blocked`, or, in the other world, one to compare again. */
export type ToThread =
  | { readonly kind: "compare"; readonly id: string }
  | { readonly kind: "blocked"; readonly id: string; readonly message: string }
  | { readonly kind: "again"; readonly id: string; readonly found: LabResult };

/** The layers of a thread, by the numbers in its cell, and how long one may take. */
export type ThreadLayers = { readonly layers: readonly string[]; readonly layerLimitMs: number };

export type FromThread =
  | ({ readonly kind: "ready" } & ThreadLayers)
  | { readonly kind: "result"; readonly compared: LabResult }
  | { readonly kind: "final"; readonly result: ConversationRegression }
  | { readonly kind: "failed"; readonly message: string; readonly code: string | null };
