import { isJsonObject, type JsonObject, type JsonValue, objectOf } from "../../base/json.ts";
import type { StreamDelta } from "../../engine/ports/provider.ts";
import { ProviderError } from "../../engine/ports/provider-error.ts";
import { withPartial } from "../failures/classify-error.ts";
import { type Deadline, interruption } from "../http/deadline.ts";
import { checkedResponse } from "../http/read-answer.ts";
import { type AnswerLimits, limitError } from "../settings/answer-limits.ts";
import { responseForm } from "./response-answers.ts";
import { ResponseStream } from "./response-stream.ts";
import type { Reply } from "./socket-reply.ts";

type Reading = {
  readonly limits: AnswerLimits;
  readonly deadline: Deadline;
  readonly onDelta: (delta: StreamDelta) => void;
};

/**
 * Reads the response resource from the frames that answer a request.
 *
 * @throws {ProviderError} as for an answer over HTTP: refused, failed, cut off, over a limit, or past its deadline.
 */
export async function readReply(reply: Reply, { limits, deadline, onDelta }: Reading): Promise<JsonObject> {
  const stream = new ResponseStream(onDelta, limits.itemBytes);
  let frames = 0;
  for (;;) {
    const frame = await nextFrame(reply, { limits, deadline, hasBegun: frames > 0 }).catch((error: unknown) => {
      throw error instanceof ProviderError && stream.partial.length > 0 ? withPartial(error, stream.partial) : error;
    });
    frames += 1;
    // Errors have the same shapes as over HTTP (as seen).
    if (frame["type"] === "error") throw stream.failure(frame, headersIn(frame));
    const response = stream.take(null, frame);
    const limit = stream.isTooLarge ? "itemBytes" : reply.bytes > limits.streamBytes ? "streamBytes" : null;
    if (limit !== null) throw withPartial(limitError(limit, limits), stream.partial);
    if (response !== null) return checkedResponse(response, { bytes: reply.bytes, limits }, { form: responseForm });
  }
}

type Waiting = Pick<Reading, "limits" | "deadline"> & { readonly hasBegun: boolean };

async function nextFrame(reply: Reply, { limits, deadline, hasBegun }: Waiting): Promise<JsonObject> {
  const { promise, reject } = Promise.withResolvers<never>();
  const onAbort = (): void => {
    reject(interruption(deadline) ?? deadline.signal.reason);
  };
  const timer = hasBegun ? setTimeout(() => reject(limitError("idleMs", limits)), limits.idleMs) : undefined;
  deadline.signal.addEventListener("abort", onAbort, { once: true });
  if (deadline.signal.aborted) onAbort();
  try {
    return await Promise.race([reply.next(), promise]);
  } finally {
    clearTimeout(timer);
    deadline.signal.removeEventListener("abort", onAbort);
  }
}

/** Some servers put the headers of the corresponding HTTP answer into the frame. */
function headersIn({ headers, error }: JsonObject): Pick<Headers, "get"> | null {
  const told = isJsonObject(headers) ? headers : objectOf(error)["headers"];
  if (!isJsonObject(told)) return null;
  const textOf = (value: JsonValue | undefined): string | null =>
    typeof value === "string" || typeof value === "number" ? String(value) : null;
  const values = new Map(Object.entries(told).map(([name, value]) => [name.toLowerCase(), textOf(value)]));
  return { get: (name) => values.get(name) ?? null };
}
