import type { TextDifference, Verdict } from "./page-documents.ts";

/** What a block went through. */
export type BiographyDocument = {
  readonly conversation: string;
  readonly id: string;
  readonly label: string;
  /** In the newest Turn; null if it is gone. */
  readonly index: number | null;
  readonly characters: number;
  readonly steps: readonly BiographyStep[];
  readonly previous: string | null;
  readonly next: string | null;
};

export type BiographyStep = {
  readonly what: "made" | "changed" | "removed" | "erased";
  readonly conversation: string;
  readonly revision: number;
  readonly at: string;
  readonly actor: string;
  readonly layer: string | null;
  readonly layerNumber: number | null;
  /** Null if the log has no text of it. */
  readonly text: string | null;
  readonly characters: number | null;
  readonly difference: TextDifference | null;
  /** The request that it made worse. */
  readonly broke: { readonly revision: number; readonly verdict: Verdict; readonly bytes: number } | null;
};
