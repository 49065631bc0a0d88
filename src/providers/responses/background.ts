import { setTimeout as sleep } from "node:timers/promises";
import { type JsonObject, textOrNull } from "../../base/json.ts";
import { ProviderError } from "../../engine/stack/provider.ts";
import { withPartial } from "../failures/classify-error.ts";
import { type Deadline, interruption } from "../http/deadline.ts";
import type { ResponseStream } from "./response-stream.ts";

/** The id under which a server makes a response in the background, while it does; null for every other response. */
export const idUnderWay = (response: JsonObject): string | null =>
  response["background"] === true ? idUnfinished(response) : null;

/** The id of a response that is none yet, asked for or not: a server may queue what it was asked; else null. */
export function idUnfinished({ id, status }: JsonObject): string | null {
  const isUnfinished = status === "queued" || status === "in_progress";
  return isUnfinished ? textOrNull(id) : null;
}

/** How a response that is made in the background is read. */
type Background = {
  /** The response as it is now. */
  readonly fetch: () => Promise<JsonObject>;
  /** Reads on in its stream, up to the response that it ends with. */
  readonly readOn: (cursor: number) => Promise<JsonObject>;
  readonly deadline: Deadline;
};

/**
 * Reads on in a stream that broke off, for as long as there is one, and fetches the response where there is none: a server may
 * number no events, keep none, or have no streams.
 *
 * @throws {ProviderError} `lost-response` when the server does not have it; what a fetch throws when that stays so; and when
 * nobody waits any longer.
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
        // Only the stream was refused; what became of the response is another question.
        if (error.status === null) throw error;
        break;
      }
      failures = stream.cursor > cursor ? 1 : failures + 1;
      await pause(failures, deadline);
    }
  }
  return fetchEnded(background);
}

/** Fetches a response until it has ended. */
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
      // Only the fetch was refused: the response is being made.
      if (!isPassing(error) || failures > maxFailures) throw withPartial(error, error.partial);
    }
    await pause(waits, deadline);
  }
}

/** The answer broke off although somebody waits for it: the server goes on without a listener. */
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

/** How long is waited between two fetches: twice as long each time. */
const waitMs = 100;
const maxWaitMs = 5_000;

/** How often in a row a fetch may fail, or a stream break off: that changes nothing, so that it may be repeated. */
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
