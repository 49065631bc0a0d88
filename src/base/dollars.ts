/** Amounts of money as whole numbers of 10⁻¹² dollars, so that sums are exact. In JSON they are decimal text: `"0.025265"`. */
export type Picodollars = bigint;

const digits = 12;
const perDollar: Picodollars = 10n ** BigInt(digits);

/**
 * Reads an amount, such as `0.025265` or `1.5e-7`; null for any other text, and for a negative amount. What is smaller than 10⁻¹²
 * dollars is rounded, half up.
 */
export function parseDollars(text: string): Picodollars | null {
  const [, whole = "", fraction = "", exponent = "0"] = /^(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d{1,3}))?$/.exec(text) ?? [];
  if (whole === "") return null;
  const shift = digits + Number(exponent) - fraction.length;
  const value = BigInt(whole + fraction);
  if (shift >= 0) return value * 10n ** BigInt(shift);
  return divideHalfUp(value, 10n ** BigInt(-shift));
}

/** The amount as decimal text without an exponent or needless zeros. */
export function dollarText(amount: Picodollars): string {
  const fraction = (amount % perDollar).toString().padStart(digits, "0").replace(/0+$/, "");
  return `${amount / perDollar}${fraction === "" ? "" : `.${fraction}`}`;
}

export const divideHalfUp = (value: bigint, by: bigint): bigint => (2n * value + by) / (2n * by);
