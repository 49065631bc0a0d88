import { setTimeout as sleep } from "node:timers/promises";
import { type JsonObject, textOrNull } from "../../base/json.ts";
import { ProviderError } from "../../engine/ports/provider-error.ts";
import { withPartial } from "../failures/classify-error.ts";
import { type Deadline, interruption } from "../http/deadline.ts";
import type { ResponseStream } from "./response-stream.ts";

/** The id of a response that the server is making in the background; null for every other response. */
export const idUnderWay = (response: JsonObject): string | null =>
  response["background"] === true ? idUnfinished(response) : null;

/** The id of an unfinished response; null if it has finished. A server may queue a request even if the caller did not ask for it. */
export function idUnfinished({ id, status }: JsonObject): string | null {
  const isUnfinished = status === "queued" || status === "in_progress";
  return isUnfinished ? textOrNull(id) : null;
}

/** How to read a background response. */
type Background = {
  /** Fetches the response in its current state. */
  readonly fetch: () => Promise<JsonObject>;
  /** Resumes its stream after `cursor` and returns the final response. */
  readonly readOn: (cursor: number) => Promise<JsonObject>;
  readonly deadline: Deadline;
};

/**
 * Resumes a stream that was cut off for as long as the server has one, and otherwise fetches the response: a server may not number its
 * events, may not keep them, or may have no streams.
 *
 * @throws {ProviderError} `lost-response` if the server does not have it; the error of a fetch that keeps failing; and when the deadline
 * passes.
 */
export async function followToEnd(stream: ResponseStream, background: Background): Promise<JsonObject> {
  const { readOn, deadline } = background;
  for (let failures = 0; stream.cursor !== null && failures <= maxFailures; ) {
    const { cursor } = stream;
    try {
      stream.takeUp();
      const response = await readOn(cursor);
      if (idUnfinished(response) === null) return response;
      break;
    } catch (error) {
      if (!(error instanceof ProviderError) || isFailedResponse(error.body)) throw error;
      if (!isBrokenOff(error, deadline)) {
        // Only the stream was refused; the response may still be there.
        if (error.status === null) throw error;
        break;
      }
      failures = stream.cursor > cursor ? 1 : failures + 1;
      await pause(failures, deadline);
    }
  }
  return fetchEnded(background);
}

/** Fetches a response until it has finished. */
async function fetchEnded({ fetch, deadline }: Pick<Background, "fetch" | "deadline">): Promise<JsonObject> {
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
      // Only the fetch failed: the server still works on the response.
      if (!isPassing(error) || failures > maxFailures) throw withPartial(error, error.partial);
    }
    await pause(waits, deadline);
  }
}

/** The answer was cut off, but not by the caller: the server continues without a listener. */
export const isBrokenOff = (error: unknown, { signal }: Deadline): boolean =>
  error instanceof ProviderError &&
  ["stream-cut", "connection", "answer-stalled"].includes(error.kind) &&
  !signal.aborted;

async function pause(times: number, deadline: Deadline): Promise<void> {
  const ms = Math.min(maxWaitMs, waitMs * 2 ** times);
  await sleep(ms, undefined, { signal: deadline.signal }).catch(() => undefined);
  const interrupted = interruption(deadline);
  if (interrupted !== null) throw interrupted;
}

/** The delay between two fetches; it doubles each time. */
const waitMs = 100;
const maxWaitMs = 5_000;

/** How often in a row a fetch may fail or a stream may be cut off. Both only read, so they can be repeated. */
const maxFailures = 5;

const isPassing = ({ kind, status, body }: ProviderError): boolean =>
  (kind === "connection" ||
    kind === "stream-cut" ||
    kind === "answer-stalled" ||
    kind === "rate-limited" ||
    (status ?? 0) >= 500) &&
  !isFailedResponse(body);

/** The response itself has failed, so another fetch returns the same. */
const isFailedResponse = (body: ProviderError["body"]): boolean =>
  typeof body === "object" && body !== null && "status" in body && body["status"] === "failed";

function lost(cause: ProviderError): ProviderError {
  const { message, status, providerCode, body } = cause;
  const told = { kind: "lost-response", outcome: "unknown", status, providerCode, body, cause } as const;
  return new ProviderError(`the server no longer has the background response: ${message}`, told);
}
