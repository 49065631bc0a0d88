import { dollarText, type Picodollars, parseDollars } from "../../base/dollars.ts";

/** A difference of money, which may be negative, as decimal text. */
export const moneyText = (amount: Picodollars): string =>
  amount < 0n ? `-${dollarText(-amount)}` : dollarText(amount);

/** The amount of such a text. */
export function moneyOf(text: string): Picodollars {
  const amount = parseDollars(text.replace(/^-/, "")) ?? 0n;
  return text.startsWith("-") ? -amount : amount;
}
