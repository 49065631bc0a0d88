import { isJsonList, isJsonObject, type JsonObject, type JsonValue, jsonOf } from "../../base/json.ts";
import { utf8Length } from "../../base/utf8.ts";
import { ProviderError, type StreamDelta } from "../../engine/stack/provider.ts";
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
  /** Called, and waited for, with every response of a stream that is not the last word yet. */
  readonly onUnderWay?: (response: JsonObject) => Promise<void>;
  /** What answers are in this dialect; those of the Responses API when absent. */
  readonly form: AnswerForm;
  /** Puts the events together; what broke off is taken up with the same. */
  readonly stream: AnswerStream;
};

/**
 * Reads the answer of a model out of an HTTP answer, JSON or event stream: whichever it is, not what was asked for or
 * what the content type says.
 *
 * @throws {ProviderError} for a response that failed, an error in a stream, a stream that ends early, what is no response at
 * all, and an answer that goes past a limit.
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
 * A response as it may be gone on with.
 *
 * @throws {ProviderError} for one that failed, and one of which an item is larger than it may be.
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
 * Reads an answer that is one JSON object, whatever it says.
 *
 * @throws {ProviderError} for what is none, and for an answer that breaks off or goes past a limit.
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

/** An item is no larger than what was read of the answer. */
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

/** Nobody reads on when what is told of a response cannot be kept. */
async function underWay({ response }: JsonObject, body: MeteredBody, onUnderWay: Reading["onUnderWay"]): Promise<void> {
  if (!isJsonObject(response)) return;
  try {
    await onUnderWay?.(response);
  } catch (error) {
    void body.cancel();
    throw error;
  }
}

/** Lets a stream end by itself after its terminal event, so that the connection can serve again; not for long. */
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

/** The first characters of a body: servers mislabel event streams as JSON and JSON as anything. */
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

/** The whole body, with what was read of it already. */
export const rest = ({ body, chunks }: Opened): ReadableStream<Uint8Array> =>
  new ReadableStream<Uint8Array>({
    async pull(queue): Promise<void> {
      const chunk = chunks.shift() ?? (await body.read());
      if (chunk === null) queue.close();
      else queue.enqueue(chunk);
    },
    cancel: (reason) => body.cancel(reason),
  });

/** Whether a body that begins so is an event stream, whatever its content type says. */
export const isEventStream = (start: string): boolean => /^(event|data|id|retry)?:/.test(start);

/** As much as it takes to see `event:`. */
const startLength = 6;

type Broken = { readonly partial: readonly JsonObject[]; readonly body: MeteredBody };

/** The answer broke off: because nobody waits any longer, because it went past a limit, or by itself. */
export function broken(deadline: Deadline, cause: unknown, { partial, body }: Broken): ProviderError {
  const text = "the answer of the provider broke off before it was complete";
  const told = { kind: "stream-cut", outcome: "unknown", partial, cause } as const;
  if (body.failure !== null) return withPartial(body.failure, partial);
  return interruption(deadline, partial) ?? new ProviderError(text, told);
}

/** What came in the place of an answer. An error under 200 is what it says. */
export function notAResponse({ status, headers, url }: Response, body: string): ProviderError {
  if (tellsError(jsonOf(body))) return providerError({ status, headers, body });
  const failure = classifyFailure({ status, headers, body });
  const { message } = readErrorBody(body);
  const said = message ?? body.trim().slice(0, 200);
  const advice = isHtmlPage(said) ? `; ${addressAdvice(url)}` : "";
  const what = body.trim() === "" ? "an empty body" : `what is no response: ${said}${advice}`;
  return new ProviderError(`the provider answered with ${what}`, { ...failure, outcome: "unknown", body });
}

function tellsError(body: JsonValue | undefined): boolean {
  const [told = body] = isJsonList(body) ? body : [];
  return isJsonObject(told) && (isJsonObject(told["error"]) || typeof told["error"] === "string");
}
