import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { linesOf } from "../../base/lines.ts";
import { ProviderError, type StreamDelta } from "../../engine/stack/provider.ts";
import { type AnswerLimits, limitError } from "../answer-limits.ts";
import { withPartial } from "../classify-error.ts";
import { type Deadline, interruption } from "../deadline.ts";
import { jsonOf } from "../json-text.ts";
import { MeteredBody } from "../metered-body.ts";
import { notAResponse } from "../read-answer.ts";
import { advised } from "./ollama-error.ts";
import { OllamaStream } from "./ollama-stream.ts";

type Reading = {
  readonly limits: AnswerLimits;
  readonly deadline: Deadline;
  readonly onDelta: (delta: StreamDelta) => void;
};

/**
 * Reads an answer of `/api/chat`: one that comes whole is a stream of one line.
 *
 * @throws {ProviderError} for an error that it tells, one that ends before the server said that it was done, what is no
 * answer at all, and an answer that goes past a limit.
 */
export async function readAnswer(answer: Response, { limits, deadline, onDelta }: Reading): Promise<JsonObject> {
  const body = new MeteredBody(answer.body, limits);
  body.asStream();
  const stream = new OllamaStream(onDelta);
  let hasBegun = false;
  try {
    for await (const line of linesOf(textOf(body))) {
      body.endEvent();
      if (line.trim() === "") continue;
      const value = jsonOf(line);
      if (!isJsonObject(value)) throw hasBegun ? brokenOff(stream) : notAResponse(answer, line);
      hasBegun = true;
      stream.take(value);
      if (stream.textLength > limits.itemBytes) throw limitError("itemBytes", limits);
      if (stream.isDone) return stream.response;
    }
  } catch (cause) {
    if (cause instanceof ProviderError) throw advised(withPartial(cause, stream.partial));
    throw interruption(deadline, stream.partial) ?? brokenOff(stream, cause);
  } finally {
    void body.cancel();
  }
  throw brokenOff(stream);
}

async function* textOf(body: MeteredBody): AsyncGenerator<string, void> {
  const decoder = new TextDecoder();
  for (let chunk = await body.read(); chunk !== null; chunk = await body.read())
    yield decoder.decode(chunk, { stream: true });
  yield decoder.decode();
}

function brokenOff({ partial }: OllamaStream, cause?: unknown): ProviderError {
  const text = "the answer of the provider broke off before it was complete: no line of it says that it is done";
  return new ProviderError(text, { kind: "stream-cut", outcome: "unknown", partial, cause });
}
