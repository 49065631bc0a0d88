import { createHash } from "node:crypto";
import type { Json } from "./wire.ts";

/** The prefixes of earlier prompts that a server still has. */
export interface PrefixCache {
  /** How many leading units this prompt shares with an earlier one. */
  known(units: readonly string[]): number;
  /** Stores every prefix of a prompt, up to this many units. */
  keep(units: readonly string[], upTo?: number): void;
  /** Reads a prompt and stores its prefixes, unless it has more than `maxTokens` tokens. */
  read(units: readonly Json[], maxTokens: number): PromptTokens & { readonly isTooLong: boolean };
  clear(): void;
}

/** The tokens of a prompt, and how many of them came from the cache. */
export interface PromptTokens {
  readonly prompt: number;
  readonly cached: number;
}

/** A unit is what a server caches as a whole: a tool, the instructions, a message. */
export function createPrefixCache(): PrefixCache {
  const kept = new Set<string>();
  const known = (units: readonly string[]): number => {
    const first = beginningsOf(units).findIndex((beginning) => !kept.has(beginning));
    return first < 0 ? units.length : first;
  };
  const keep = (units: readonly string[], upTo = units.length): void => {
    for (const beginning of beginningsOf(units.slice(0, upTo))) kept.add(beginning);
    for (const oldest of kept) {
      if (kept.size <= maxKept) break;
      kept.delete(oldest);
    }
  };
  return {
    ...{ known, keep },
    read(given, maxTokens) {
      const units = given.map((unit) => JSON.stringify(unit));
      const prompt = tokensIn(units);
      if (prompt > maxTokens) return { prompt, cached: 0, isTooLong: true };
      const cached = tokensIn(units.slice(0, known(units)));
      keep(units);
      return { prompt, cached, isTooLong: false };
    },
    clear: () => {
      kept.clear();
    },
  };
}

const maxKept = 100_000;

/** A size that depends only on the text: four characters are a token. */
export const tokensIn = (texts: readonly string[]): number =>
  texts.reduce((sum, text) => sum + Math.ceil(text.length / 4), 0);

function beginningsOf(units: readonly string[]): readonly string[] {
  let before = "";
  return units.map((unit) => {
    before = createHash("sha256").update(before).update(unit).digest("base64");
    return before;
  });
}
