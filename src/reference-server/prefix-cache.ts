import { createHash } from "node:crypto";

/** The beginnings of earlier prompts that a server still has. */
export interface PrefixCache {
  /** How many units this prompt begins with that an earlier one began with too. */
  known(units: readonly string[]): number;
  /** Keeps every beginning of a prompt, up to so many units. */
  keep(units: readonly string[], upTo?: number): void;
  clear(): void;
}

/** A unit is what a server caches whole: a tool, the instructions, a message. */
export function createPrefixCache(): PrefixCache {
  const kept = new Set<string>();
  return {
    known: (units) => {
      const known = beginningsOf(units).findIndex((beginning) => !kept.has(beginning));
      return known < 0 ? units.length : known;
    },
    keep(units, upTo = units.length) {
      for (const beginning of beginningsOf(units.slice(0, upTo))) kept.add(beginning);
      for (const oldest of kept) {
        if (kept.size <= maxKept) break;
        kept.delete(oldest);
      }
    },
    clear: () => {
      kept.clear();
    },
  };
}

const maxKept = 100_000;

/** A size that depends on nothing but the text: four characters make a token. */
export const tokensIn = (texts: readonly string[]): number =>
  texts.reduce((sum, text) => sum + Math.ceil(text.length / 4), 0);

function beginningsOf(units: readonly string[]): readonly string[] {
  let before = "";
  return units.map((unit) => {
    before = createHash("sha256").update(before).update(unit).digest("base64");
    return before;
  });
}
