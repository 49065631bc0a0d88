import { isJsonList, isJsonObject, type JsonObject, type JsonValue, jsonOf } from "../../base/json.ts";
import { utf8Length } from "../../base/utf8.ts";
import type { StreamDelta } from "../../engine/ports/provider.ts";
import { ProviderError } from "../../engine/ports/provider-error.ts";
import type { AnswerForm, AnswerStream } from "../answers/answer-form.ts";
import { classifyFailure, providerError, withPartial } from "../failures/classify-error.ts";
import { isHtmlPage, readErrorBody } from "../failures/error-report.ts";
import { type AnswerLimits, limitError } from "../settings/answer-limits.ts";
import { type Deadline, interruption } from "./deadline.ts";
import { type Opened, type ServerEvent, serverEvents } from "./event-stream.ts";
import { MeteredBody } from "./metered-body.ts";
import { addressAdvice } from "./refusal.ts";

type Reading = {
  readonly limits: AnswerLimits;
  readonly deadline: Deadline;
  readonly onDelta: (delta: StreamDelta) => void;
  /** Called and awaited for every response in the stream but the last. */
  readonly onUnderWay?: (response: JsonObject) => Promise<void>;
  /** How answers look in this dialect. */
  readonly form: AnswerForm;
  /** Assembles the events; an interrupted stream is resumed with the same one. */
  readonly stream: AnswerStream;
};

/**
 * Reads a model's answer from an HTTP answer, JSON or event stream. The first bytes decide which: neither the request nor the content type
 * does.
 *
 * @throws {ProviderError} for a response that failed, an error in a stream, a stream that ends early, a body that is not a response, and an
 * answer that exceeds a limit.
 */
export async function readAnswer(answer: Response, reading: Reading): Promise<JsonObject> {
  const body = new MeteredBody(answer.body, reading.limits);
  const { start, chunks } = await open(body, reading.deadline);
  const response = isEventStream(start)
    ? await readStream({ body, chunks }, reading)
    : await readJson({ body, chunks, answer }, reading);
  return checkedResponse(response, body, { headers: answer.headers, form: reading.form });
}

/**
 * Returns a response that can be used.
 *
 * @throws {ProviderError} if it failed, or one of its items exceeds the limit.
 */
export function checkedResponse(
  response: JsonObject,
  read: Pick<MeteredBody, "bytes" | "limits">,
  { headers, form }: { readonly headers?: Pick<Headers, "get">; readonly form: AnswerForm },
): JsonObject {
  const items = form.itemsOf(response);
  checkItems(items, read);
  if (!form.hasFailed(response)) return response;
  const error = providerError({ body: response, headers: headers ?? null });
  throw items.length === 0 ? error : withPartial(error, items);
}

/**
 * Reads an answer that is one JSON object of any content.
 *
 * @throws {ProviderError} if it is not an object, is cut off or exceeds a limit.
 */
export async function readObject(
  answer: Response,
  { limits, deadline }: Pick<Reading, "limits" | "deadline">,
): Promise<JsonObject> {
  const text = await textOf({ body: new MeteredBody(answer.body, limits), chunks: [] }, deadline);
  const body = jsonOf(text);
  if (!isJsonObject(body)) throw notAResponse(answer, text);
  return body;
}

const textOf = (opened: Opened, deadline: Deadline): Promise<string> =>
  new Response(rest(opened)).text().catch((cause: unknown) => {
    throw broken(deadline, cause, { partial: [], body: opened.body });
  });

/** Measures items only if the whole answer is larger than an item may be. */
function checkItems(items: readonly JsonObject[], { bytes, limits }: Pick<MeteredBody, "bytes" | "limits">): void {
  if (bytes <= limits.itemBytes) return;
  const isWithin = (item: JsonObject): boolean => utf8Length(JSON.stringify(item)) <= limits.itemBytes;
  const sound = items.filter(isWithin);
  if (sound.length < items.length) throw withPartial(limitError("itemBytes", limits), sound);
}

async function readJson(
  { body: metered, chunks, answer }: Opened & { readonly answer: Response },
  { deadline, onDelta, form }: Reading,
): Promise<JsonObject> {
  const text = await textOf({ body: metered, chunks }, deadline);
  const body = jsonOf(text) ?? text;
  if (!isJsonObject(body) || !form.isAnswer(body)) throw notAResponse(answer, text);
  form.tell(body, onDelta);
  return body;
}

async function readStream(opened: Opened, { deadline, limits, onUnderWay, stream }: Reading): Promise<JsonObject> {
  const { body } = opened;
  body.asStream();
  const events = serverEvents(opened);
  for (;;) {
    const next = await events.next().catch((cause: unknown) => {
      throw broken(deadline, cause, { partial: stream.partial, body });
    });
    if (next.done === true) {
      const ended = stream.end?.() ?? null;
      if (ended !== null) return ended;
      throw broken(deadline, undefined, { partial: stream.partial, body });
    }
    const { event, data } = next.value;
    if (!isJsonObject(data)) continue;
    const response = stream.take(event, data);
    if (stream.isTooLarge) {
      void body.cancel();
      throw withPartial(limitError("itemBytes", limits), stream.partial);
    }
    if (response === null) {
      await underWay(data, body, onUnderWay);
      continue;
    }
    await drain(events, body);
    return response;
  }
}

/** Stops reading if `onUnderWay` could not record the response. */
async function underWay({ response }: JsonObject, body: MeteredBody, onUnderWay: Reading["onUnderWay"]): Promise<void> {
  if (!isJsonObject(response)) return;
  try {
    await onUnderWay?.(response);
  } catch (error) {
    void body.cancel();
    throw error;
  }
}

/** Waits briefly for the end of the stream after its terminal event, so that the connection can be reused. */
async function drain(events: AsyncIterator<ServerEvent>, body: MeteredBody): Promise<void> {
  const rest = (async () => {
    while ((await events.next()).done !== true);
  })();
  let timer: NodeJS.Timeout | undefined;
  const patience = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, maxDrainMs);
  });
  await Promise.race([rest.catch(() => undefined), patience]);
  clearTimeout(timer);
  void body.cancel();
}

const maxDrainMs = 200;

/** Reads the first characters of a body: servers label event streams as JSON, and JSON as anything. */
export async function open(
  body: MeteredBody,
  deadline: Deadline,
): Promise<{ readonly start: string; readonly chunks: Uint8Array[] }> {
  const chunks: Uint8Array[] = [];
  const decoder = new TextDecoder();
  let start = "";
  while (start.length < startLength) {
    const chunk = await body.read().catch((cause: unknown) => {
      throw broken(deadline, cause, { partial: [], body });
    });
    if (chunk === null) break;
    chunks.push(chunk);
    start = (start + decoder.decode(chunk, { stream: true })).trimStart();
  }
  return { start, chunks };
}

/** The whole body, including the part that was already read. */
export const rest = ({ body, chunks }: Opened): ReadableStream<Uint8Array> =>
  new ReadableStream<Uint8Array>({
    async pull(queue): Promise<void> {
      const chunk = chunks.shift() ?? (await body.read());
      if (chunk === null) queue.close();
      else queue.enqueue(chunk);
    },
    cancel: (reason) => body.cancel(reason),
  });

/** Whether a body with this start is an event stream, whatever its content type says. */
export const isEventStream = (start: string): boolean => /^(event|data|id|retry)?:/.test(start);

/** Enough to see `event:`. */
const startLength = 6;

type Broken = { readonly partial: readonly JsonObject[]; readonly body: MeteredBody };

/** The error of an answer that was cut off: by the caller or the deadline, by a limit, or by the connection. */
export function broken(deadline: Deadline, cause: unknown, { partial, body }: Broken): ProviderError {
  const text = "the answer of the provider broke off before it was complete";
  const told = { kind: "stream-cut", outcome: "unknown", partial, cause } as const;
  if (body.failure !== null) return withPartial(body.failure, partial);
  return interruption(deadline, partial) ?? new ProviderError(text, told);
}

/** The error of a body that is not a response. An error under 200 is classified by its content. */
export function notAResponse({ status, headers, url }: Response, body: string): ProviderError {
  if (tellsError(jsonOf(body))) return providerError({ status, headers, body });
  const failure = classifyFailure({ status, headers, body });
  const { message } = readErrorBody(body);
  const said = message ?? body.trim().slice(0, 200);
  const advice = isHtmlPage(said) ? `; ${addressAdvice(url)}` : "";
  const what = body.trim() === "" ? "an empty body" : `something that is not a response: ${said}${advice}`;
  return new ProviderError(`the provider answered with ${what}`, { ...failure, outcome: "unknown", body });
}

function tellsError(body: JsonValue | undefined): boolean {
  const [told = body] = isJsonList(body) ? body : [];
  return isJsonObject(told) && (isJsonObject(told["error"]) || typeof told["error"] === "string");
}
