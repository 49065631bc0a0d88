import { isJsonList, isJsonObject, type JsonObject, jsonOf, listOf } from "../../base/json.ts";
import { utf8Length } from "../../base/utf8.ts";
import type { StreamDelta } from "../../engine/ports/provider.ts";
import { ProviderError } from "../../engine/ports/provider-error.ts";
import { classifyFailure, providerError, withPartial } from "../failures/classify-error.ts";
import type { Deadline } from "../http/deadline.ts";
import { type Opened, serverEvents } from "../http/event-stream.ts";
import { MeteredBody } from "../http/metered-body.ts";
import { broken, isEventStream, notAResponse, open, rest } from "../http/read-answer.ts";
import { type AnswerLimits, limitError } from "../settings/answer-limits.ts";
import { failureIn } from "./gemini-answer.ts";
import { partsIn } from "./gemini-parts.ts";
import { GeminiStream, tellParts } from "./gemini-stream.ts";

type Reading = {
  readonly limits: AnswerLimits;
  readonly deadline: Deadline;
  readonly onDelta: (delta: StreamDelta) => void;
  /** Extracts a response, or a chunk of one, from what the endpoint puts around it. */
  readonly unwrap: (answer: JsonObject) => JsonObject;
};

/**
 * Reads a response of generateContent from an HTTP answer, JSON or event stream; the first bytes decide which, not the request.
 *
 * @throws {ProviderError} for a blocked prompt and an answer that the model could not give, an error in a stream, a stream that ends before
 * the server has said how the answer ended, a body that is not a response, and an answer that exceeds a limit.
 */
export async function readGemini(answer: Response, reading: Reading): Promise<JsonObject> {
  const body = new MeteredBody(answer.body, reading.limits);
  const { start, chunks } = await open(body, reading.deadline);
  const response = isEventStream(start)
    ? await readStream({ body, chunks }, reading)
    : await readJson({ body, chunks }, answer, reading);
  const failure = failureIn(response);
  if (failure === null) return response;
  const isBlocked = isJsonObject(response["promptFeedback"]) && response["promptFeedback"]["blockReason"] !== undefined;
  throw new ProviderError(failure.message, {
    ...(isBlocked
      ? ({ kind: "content-filtered", outcome: "rejected" } as const)
      : ({ kind: "server-error", outcome: "unknown" } as const)),
    ...{ status: answer.status, providerCode: failure.code, body: response },
  });
}

async function readJson(
  opened: Opened,
  answer: Response,
  { deadline, onDelta, unwrap, limits }: Reading,
): Promise<JsonObject> {
  const text = await new Response(rest(opened)).text().catch((cause: unknown) => {
    throw broken(deadline, cause, { partial: [], body: opened.body });
  });
  const body = jsonOf(text);
  const response = isJsonObject(body) ? unwrap(body) : undefined;
  if (response === undefined || !isResponse(response)) throw notAResponse(answer, text);
  if (opened.body.bytes > limits.itemBytes) checkParts(response, limits);
  tellParts(response, onDelta);
  return response;
}

const isResponse = ({ candidates, promptFeedback, usageMetadata }: JsonObject): boolean =>
  isJsonList(candidates) || isJsonObject(promptFeedback) || isJsonObject(usageMetadata);

function checkParts({ candidates }: JsonObject, limits: AnswerLimits): void {
  for (const candidate of listOf(candidates)) {
    const parts = partsIn(candidate);
    const sound = parts.filter((part) => utf8Length(JSON.stringify(part)) <= limits.itemBytes);
    if (sound.length < parts.length) throw withPartial(limitError("itemBytes", limits), sound);
  }
}

async function readStream(opened: Opened, { deadline, limits, onDelta, unwrap }: Reading): Promise<JsonObject> {
  const { body } = opened;
  body.asStream();
  const stream = new GeminiStream(onDelta);
  try {
    for await (const { data } of serverEvents(opened)) {
      if (!isJsonObject(data)) continue;
      if ((data["error"] ?? null) !== null) throw failed(stream, data);
      stream.take(unwrap(data));
      if (stream.textLength > limits.itemBytes) throw withPartial(limitError("itemBytes", limits), stream.partial);
    }
  } catch (cause) {
    throw cause instanceof ProviderError && body.failure === null
      ? cause
      : broken(deadline, cause, { partial: stream.partial, body });
  }
  // Only the finish reason marks the end: several clients take a stream that was cut off for a complete one.
  if (!stream.isFinished) throw broken(deadline, undefined, { partial: stream.partial, body });
  return stream.response;
}

/** The error that the server reported in its stream, with the answer so far. */
function failed(stream: GeminiStream, body: JsonObject): ProviderError {
  const error = providerError({ body });
  const { outcome } = classifyFailure({ body });
  return stream.partial.length === 0 && outcome === "rejected" ? error : withPartial(error, stream.partial);
}
