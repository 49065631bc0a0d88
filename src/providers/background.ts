import { setTimeout as sleep } from "node:timers/promises";
import type { JsonObject } from "../base/json.ts";
import { ProviderError } from "../engine/stack/provider.ts";
import { type Deadline, interruption } from "./deadline.ts";
import { withPartial } from "./response-stream.ts";

/** The id under which a server makes a response in the background, while it does; null for every other response. */
export const idUnderWay = (response: JsonObject): string | null =>
  response["background"] === true ? idUnfinished(response) : null;

/** The id of a response that is none yet, asked for or not: a server may queue what it was asked; else null. */
export function idUnfinished({ id, status }: JsonObject): string | null {
  const isUnfinished = status === "queued" || status === "in_progress";
  return isUnfinished && typeof id === "string" ? id : null;
}

/**
 * Fetches a response that is made in the background until it has ended.
 *
 * @throws {ProviderError} `lost-response` when the server does not have it; what a fetch throws when that stays so; and when
 * nobody waits any longer.
 */
export async function fetchEnded(fetch: () => Promise<JsonObject>, deadline: Deadline): Promise<JsonObject> {
  let failures = 0;
  for (let waits = 0; ; waits += 1) {
    try {
      const response = await fetch();
      failures = 0;
      if (idUnfinished(response) === null) return response;
    } catch (error) {
      if (!(error instanceof ProviderError)) throw error;
      if (error.status === 404) throw lost(error);
      failures += 1;
      // Only the fetch was refused: the response is being made.
      if (!isPassing(error) || failures > maxFailures) throw withPartial(error, error.partial);
    }
    await sleep(Math.min(maxWaitMs, waitMs * 2 ** waits), undefined, { signal: deadline.signal }).catch(
      () => undefined,
    );
    const interrupted = interruption(deadline);
    if (interrupted !== null) throw interrupted;
  }
}

/** How long is waited between two fetches: twice as long each time. */
const waitMs = 100;
const maxWaitMs = 5_000;

/** How often in a row a fetch may fail: it changes nothing, so that it may be repeated. */
const maxFailures = 5;

const isPassing = ({ kind, status, body }: ProviderError): boolean =>
  (kind === "connection" ||
    kind === "stream-cut" ||
    kind === "answer-stalled" ||
    kind === "rate-limited" ||
    (status ?? 0) >= 500) &&
  !isFailedResponse(body);

/** The response itself says that it failed: it will say so for ever. */
const isFailedResponse = (body: ProviderError["body"]): boolean =>
  typeof body === "object" && body !== null && "status" in body && body["status"] === "failed";

function lost(cause: ProviderError): ProviderError {
  const { message, status, providerCode, body } = cause;
  const told = { kind: "lost-response", outcome: "unknown", status, providerCode, body, cause } as const;
  return new ProviderError(`the response that was made in the background is gone: ${message}`, told);
}
