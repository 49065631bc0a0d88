import { checkWhole, optionsOf, required } from "../../base/options.ts";

/** From how many tokens on a request that loses its prompt cache is reported. */
export type CacheLostPolicy = {
  /** About how many tokens of an earlier prompt a request has to pay for again. */
  readonly tokens: number;
};

const policyOptions = optionsOf<CacheLostPolicy>({ tokens: required(checkWhole) });

/**
 * The policy, by default from 10,000 tokens on; null for never.
 *
 * @throws {TypeError | RangeError} if an option is unknown or invalid.
 */
export function cacheLostPolicy(given: CacheLostPolicy | null = { tokens: 10_000 }): CacheLostPolicy | null {
  if (given === null) return null;
  policyOptions.check("createEngine's cacheLost", given, "createEngine: cacheLost.");
  return { tokens: given.tokens };
}
