import type { RehearsalOptions } from "../../../src/testing/rehearsal/rehearse.ts";

/** Ways in which a generated conversation is edited while it is played. */
export const mixes: readonly Partial<RehearsalOptions>[] = [
  { seed: "1", editRate: 0.2 },
  { seed: "2", editRate: 0.2, reasoning: true, parallel: true },
  { seed: "3", editRate: 0.5 },
  { seed: "4", editRate: 0.5, reasoning: true, parallel: true },
  { seed: "5", editRate: 1, edits: "persistent", reasoning: true, parallel: true },
  { seed: "6", editRate: 1, edits: "once", parallel: true },
];
