import { inspect } from "node:util";
import { ProviderError } from "../../engine/ports/provider-error.ts";
import type { Mask } from "./mask.ts";

/** The same error without secrets in its message and causes; the same object if it has none. */
export function maskedError(error: unknown, mask: Mask): unknown {
  if (error instanceof ProviderError) return maskedFailure(error, mask);
  return error instanceof Error ? maskedCause(error, mask) : maskedThrown(error, mask);
}

/** Any value may be thrown or be a cause: an object that holds a secret is replaced by its printed form. */
function maskedThrown(thrown: unknown, mask: Mask): unknown {
  if (typeof thrown === "string") return mask.cutText(thrown);
  if (typeof thrown !== "object" || thrown === null) return thrown;
  const shown = inspect(thrown, shownWhole);
  const masked = mask.text(shown);
  return masked === shown ? thrown : masked;
}

/** The texts of a server's error, and the items of a stream that was cut off, may end within a secret. */
function maskedFailure(error: ProviderError, mask: Mask): ProviderError {
  const { kind, outcome, status, retryAfterMs, shouldRetry, requestId, contentFilters } = error;
  const told = {
    message: mask.cutText(error.message),
    providerCode: error.providerCode === null ? null : mask.cutText(error.providerCode),
    param: error.param === null ? null : mask.cutText(error.param),
    requestId: requestId === null ? null : mask.cutText(requestId),
    partial: mask.json(error.partial, { isCut: true }),
    body: mask.json(error.body, { isCut: true }),
    cause: maskedError(error.cause, mask),
  };
  if (!mask.hasMasked && told.cause === error.cause) return error;
  const masked = new ProviderError(told.message, {
    ...{ kind, outcome, status, retryAfterMs, shouldRetry, contentFilters },
    ...told,
  });
  return withStackOf(error, masked, mask);
}

/** Printing an error shows its members too, so an error that holds a secret keeps only its words. */
function maskedCause(error: Error, mask: Mask): Error {
  const shown = inspect(error, shownWhole);
  if (mask.text(shown) === shown && mask.cutText(error.message) === error.message) return error;
  const masked = new Error(mask.cutText(error.message), { cause: maskedError(error.cause, mask) });
  masked.name = mask.text(error.name);
  return withStackOf(error, masked, mask);
}

/** A stack begins with the message. */
function withStackOf<Masked extends Error>({ message, stack }: Error, masked: Masked, mask: Mask): Masked {
  if (stack !== undefined) masked.stack = mask.text(stack.replace(message, () => masked.message));
  return masked;
}

const shownWhole = { depth: 20, maxStringLength: null, maxArrayLength: null } as const;
