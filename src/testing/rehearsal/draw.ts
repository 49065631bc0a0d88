import { sha256Hex } from "../../base/sha256.ts";

/** Repeatable chance: the same name draws the same values in the same order, on every machine. */
export type Draw = {
  /** A whole number from 0 to `limit` - 1. */
  readonly below: (limit: number) => number;
  /** True with this probability. */
  readonly chance: (probability: number) => boolean;
  /** One item of a non-empty list. */
  readonly pick: <T>(list: readonly [T, ...T[]]) => T;
  /** A text that no other draw returns. */
  readonly nonce: () => string;
};

/** The draw of a name: `(seed, conversation, request number)` for an edit, so that no edit affects another. */
export function drawFrom(...name: readonly (string | number)[]): Draw {
  const text = JSON.stringify(name);
  let drawn = 0;
  const digest = (): string => {
    drawn += 1;
    return sha256Hex(`${text} ${drawn}`);
  };
  // 13 hexadecimal digits are 52 bits, which a double holds exactly.
  const fraction = (): number => Number.parseInt(digest().slice(0, 13), 16) / 2 ** 52;
  const below = (limit: number): number => Math.floor(fraction() * limit);
  return {
    below,
    chance: (probability) => fraction() < probability,
    pick: (list) => list[below(list.length)] ?? list[0],
    nonce: () => digest().slice(0, 16),
  };
}
