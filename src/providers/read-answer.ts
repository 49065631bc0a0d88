import { isJsonList, isJsonObject, type JsonObject } from "../base/json.ts";
import { ProviderError, type StreamDelta } from "../engine/ports/provider.ts";
import { classifyFailure, providerError } from "./classify-error.ts";
import { type Deadline, interruption } from "./deadline.ts";
import { deltasOf } from "./deltas.ts";
import { jsonOf } from "./json-text.ts";
import type { HttpClient, ServerEvent } from "./openai-http.ts";
import { ResponseStream, withPartial } from "./response-stream.ts";

type Reading = {
  readonly client: Pick<HttpClient, "events">;
  readonly deadline: Deadline;
  readonly onDelta: (delta: StreamDelta) => void;
  /** Called, and waited for, with every response of a stream that is not the last word yet. */
  readonly onUnderWay?: (response: JsonObject) => Promise<void>;
};

/**
 * Reads the response resource out of an HTTP answer, JSON or event stream: whichever it is, not what was asked for or
 * what the content type says.
 *
 * @throws {ProviderError} for a response that failed, an error in a stream, a stream that ends early, and what is no
 * response at all.
 */
export async function readAnswer(answer: Response, reading: Reading): Promise<JsonObject> {
  const { start, body } = await opened(answer, reading.deadline);
  const response = /^(event|data|id|retry)?:/.test(start)
    ? await readStream(new Response(body, { headers: answer.headers }), reading)
    : await readJson(new Response(body, { headers: answer.headers }), reading);
  // A server that names no status may still say that it failed.
  const hasFailed = response["status"] === "failed" || (!hasStatus(response) && (response["error"] ?? null) !== null);
  if (!hasFailed) return response;
  const { output } = response;
  const items = isJsonList(output) ? output.filter(isJsonObject) : [];
  const error = providerError({ body: response, headers: answer.headers });
  throw items.length === 0 ? error : withPartial(error, items);
}

const hasStatus = ({ status }: JsonObject): boolean => typeof status === "string";

async function readJson(answer: Response, { deadline, onDelta }: Reading): Promise<JsonObject> {
  const text = await answer.text().catch((cause: unknown) => {
    throw broken(deadline, cause, []);
  });
  const body = jsonOf(text) ?? text;
  if (!isJsonObject(body) || !isJsonList(body["output"])) throw notAResponse(answer, text);
  tellItems(body, onDelta);
  return body;
}

/** Shows an answer that came whole, item by item. */
export function tellItems({ output }: JsonObject, onDelta: Reading["onDelta"]): void {
  const items = isJsonList(output) ? output.filter(isJsonObject) : [];
  for (const [index, item] of items.entries()) {
    for (const delta of deltasOf(item, index)) onDelta(delta);
    onDelta({ type: "item-done", outputIndex: index, item });
  }
}

async function readStream(answer: Response, { client, deadline, onDelta, onUnderWay }: Reading): Promise<JsonObject> {
  const stream = new ResponseStream(onDelta);
  const controller = new AbortController();
  const events = (await client.events(answer, controller))[Symbol.asyncIterator]();
  for (;;) {
    const next = await events.next().catch((cause: unknown) => {
      throw broken(deadline, cause, stream.partial);
    });
    if (next.done === true) throw broken(deadline, undefined, stream.partial);
    const { event, data } = next.value;
    if (!isJsonObject(data)) continue;
    const response = stream.take(event, data);
    if (response === null) {
      await underWay(data, controller, onUnderWay);
      continue;
    }
    await drained(events, controller);
    return response;
  }
}

/** Nobody reads on when what is told of a response cannot be kept. */
async function underWay(
  { response }: JsonObject,
  controller: AbortController,
  onUnderWay: Reading["onUnderWay"],
): Promise<void> {
  if (!isJsonObject(response)) return;
  try {
    await onUnderWay?.(response);
  } catch (error) {
    controller.abort();
    throw error;
  }
}

/** Lets a stream end by itself after its terminal event, so that the connection can serve again; not for long. */
async function drained(events: AsyncIterator<ServerEvent>, controller: AbortController): Promise<void> {
  const rest = (async () => {
    while ((await events.next()).done !== true);
  })();
  let timer: NodeJS.Timeout | undefined;
  const patience = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, drainMsMax);
  });
  await Promise.race([rest.catch(() => undefined), patience]);
  clearTimeout(timer);
  controller.abort();
}

const drainMsMax = 200;

/** The body with its first characters read: servers mislabel event streams as JSON and JSON as anything. */
async function opened(
  answer: Response,
  deadline: Deadline,
): Promise<{ start: string; body: ReadableStream<Uint8Array> | null }> {
  if (answer.body === null) return { start: "", body: null };
  const source: ReadableStream<Uint8Array> = answer.body;
  const reader = source.getReader();
  const chunks: Uint8Array[] = [];
  const decoder = new TextDecoder();
  let start = "";
  while (start.length < startLength) {
    const { done, value } = await reader.read().catch((cause: unknown) => {
      throw broken(deadline, cause, []);
    });
    if (done) break;
    chunks.push(value);
    start = (start + decoder.decode(value, { stream: true })).trimStart();
  }
  const body = new ReadableStream<Uint8Array>({
    async pull(queue): Promise<void> {
      const chunk = chunks.shift();
      if (chunk !== undefined) {
        queue.enqueue(chunk);
        return;
      }
      const { done, value } = await reader.read();
      if (done) queue.close();
      else queue.enqueue(value);
    },
    cancel: (reason) => reader.cancel(reason),
  });
  return { start, body };
}

/** As much as it takes to see `event:`. */
const startLength = 6;

/** The answer broke off: because nobody waits any longer, or by itself. */
function broken(deadline: Deadline, cause: unknown, partial: readonly JsonObject[]): ProviderError {
  const text = "the answer of the provider broke off before it was complete";
  const told = { kind: "stream-cut", outcome: "unknown", partial, cause } as const;
  return interruption(deadline, partial) ?? new ProviderError(text, told);
}

function notAResponse({ status, headers }: Response, body: string): ProviderError {
  const failure = classifyFailure({ status, headers, body });
  const what = body.trim() === "" ? "an empty body" : `what is no response: ${failure.message}`;
  return new ProviderError(`the provider answered with ${what}`, { ...failure, outcome: "unknown", body });
}
