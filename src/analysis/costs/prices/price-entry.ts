import { divideHalfUp, type Picodollars, parseDollars } from "../../../base/dollars.ts";
import type { JsonValue } from "../../../base/json.ts";
import { NumberLiteral } from "../../../base/number-literal.ts";

/** Tokens with a price of their own. `written any` is what was written to a cache for a lifetime that the server does not name. */
export type PriceClass = "uncached" | "read" | "output" | "reasoning" | `written ${string}`;

/** The prices of one model at one tier, for requests with more input than a limit. */
export type PriceSheet = {
  /** Null for the standard tier. */
  readonly tier: string | null;
  /** The input, in tokens, above which the sheet applies to the whole request. */
  readonly above: number;
  /** Per token. */
  readonly rates: ReadonlyMap<PriceClass, Picodollars>;
};

/** The prices of one model, and the name under which the file has them. */
export type PriceEntry = { readonly name: string; readonly sheets: readonly PriceSheet[] };

/** The price of one token; null for a value that is not a price, such as a negative number. */
export function ratePerToken(
  value: JsonValue | undefined,
  { per = 1n }: { readonly per?: bigint } = {},
): Picodollars | null {
  const text = typeof value === "number" || value instanceof NumberLiteral ? String(value) : null;
  const price = text === null ? null : parseDollars(text);
  return price === null ? null : divideHalfUp(price, per);
}
