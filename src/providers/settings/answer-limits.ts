import { kindOf, meant } from "../../base/options.ts";
import { type FailureKind, ProviderError } from "../../engine/ports/provider-error.ts";
import { ProviderSettingsError } from "./settings-error.ts";

/** Limits on the size of an answer and on its pauses, so that no server can exhaust the process. */
export type AnswerLimits = {
  /** Bytes of an answer that is not a stream, and of one event of a stream, which may hold a whole response; 64 MiB. */
  readonly bodyBytes: number;
  /** Bytes of one item of the output, as JSON; 32 MiB. */
  readonly itemBytes: number;
  /** Bytes of a whole event stream; 512 MiB. */
  readonly streamBytes: number;
  /** Bytes of the body of a refusal; the rest is cut off; 1 MiB. */
  readonly errorBytes: number;
  /** Milliseconds between two bytes of an answer that has begun; five minutes. `timeoutMs` limits the whole answer. */
  readonly idleMs: number;
};

const mebibyte = 2 ** 20;

const defaults: AnswerLimits = {
  bodyBytes: 64 * mebibyte,
  itemBytes: 32 * mebibyte,
  streamBytes: 512 * mebibyte,
  errorBytes: mebibyte,
  idleMs: 5 * 60_000,
};

/** A longer timer fires at once, so no limit may be larger. */
const maxLimit = 2 ** 31 - 1;

/**
 * Fills in the default limits.
 *
 * @throws {ProviderSettingsError} if a name is not a limit, or a value is not a whole number from 1 to 2147483647.
 */
export function answerLimits(given: Partial<AnswerLimits> = {}): AnswerLimits {
  const unknown = Object.keys(given).find((name) => !Object.hasOwn(defaults, name));
  if (unknown !== undefined)
    throw new ProviderSettingsError(`limits has no option '${unknown}': ${meant(unknown, Object.keys(defaults))}`);
  const limits = { ...defaults, ...given };
  for (const [name, value] of Object.entries(limits)) {
    if (Number.isInteger(value) && value >= 1 && value <= maxLimit) continue;
    throw new ProviderSettingsError(`limits.${name} is ${kindOf(value)}: give a whole number from 1 to ${maxLimit}`);
  }
  return limits;
}

/** The error of an answer that exceeded a limit. The server has acted; `partial` has the items that were complete. */
export function limitError(limit: Exclude<keyof AnswerLimits, "errorBytes">, limits: AnswerLimits): ProviderError {
  const { kind, what, unit } = told[limit];
  const raise = `raise limits.${limit} to allow it`;
  return new ProviderError(`${what} ${limits[limit]} ${unit}: ${raise}`, { kind, outcome: "unknown" });
}

const told: Readonly<
  Record<
    Exclude<keyof AnswerLimits, "errorBytes">,
    { readonly kind: FailureKind; readonly what: string; readonly unit: string }
  >
> = {
  bodyBytes: {
    kind: "body-too-large",
    what: "the provider's answer, or an event of it, is larger than",
    unit: "bytes",
  },
  itemBytes: { kind: "item-too-large", what: "an item of the provider's answer is larger than", unit: "bytes" },
  streamBytes: { kind: "stream-too-large", what: "the provider's event stream is larger than", unit: "bytes" },
  idleMs: { kind: "answer-stalled", what: "the provider sent nothing more of its answer within", unit: "ms" },
};
