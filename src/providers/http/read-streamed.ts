import { isJsonObject, type JsonObject, type JsonValue, jsonOf } from "../../base/json.ts";
import { linesOf } from "../../base/lines.ts";
import { ProviderError } from "../../engine/ports/provider-error.ts";
import type { StreamedAnswer } from "../answers/answer-form.ts";
import { withPartial } from "../failures/classify-error.ts";
import { type AnswerLimits, limitError } from "../settings/answer-limits.ts";
import type { Deadline } from "./deadline.ts";
import { type Opened, type ServerEvent, serverEvents } from "./event-stream.ts";
import { MeteredBody } from "./metered-body.ts";
import { broken, isEventStream, notAResponse, open, rest } from "./read-answer.ts";

type Reading = {
  readonly limits: AnswerLimits;
  readonly deadline: Deadline;
  readonly stream: StreamedAnswer;
};

/**
 * Reads an answer part by part, NDJSON or event stream; an answer that comes whole is a stream with one part.
 *
 * @throws {ProviderError} if it ends before its last part, is not JSON, or exceeds a limit; `partial` has the items so far.
 * @throws what `stream` throws.
 */
export async function readStreamed(answer: Response, { limits, deadline, stream }: Reading): Promise<JsonObject> {
  const body = new MeteredBody(answer.body, limits);
  try {
    const { start, chunks } = await open(body, deadline);
    body.asStream();
    const opened = { body, chunks };
    const parts = isEventStream(start) ? serverEvents(opened) : partsByLine(opened, answer);
    for (;;) {
      const next = await parts.next().catch((cause: unknown) => {
        throw cause instanceof ProviderError ? cause : broken(deadline, cause, { partial: [], body });
      });
      if (next.done === true) return stream.end?.() ?? brokenOff(deadline, body);
      const { event, data } = next.value;
      const response = isJsonObject(data) ? stream.take(event, data) : null;
      if (stream.isTooLarge === true) throw limitError("itemBytes", limits);
      if (response !== null) return response;
    }
  } catch (error) {
    const { partial = [] } = stream;
    throw error instanceof ProviderError && partial.length > 0 ? withPartial(error, partial) : error;
  } finally {
    void body.cancel();
  }
}

function brokenOff(deadline: Deadline, body: MeteredBody): never {
  throw broken(deadline, undefined, { partial: [], body });
}

/** Each line is an object. If the first is not, the body may be one object that was printed over several lines. */
async function* partsByLine(opened: Opened, answer: Response): AsyncGenerator<ServerEvent, void> {
  let first = true;
  const lines = linesOf(rest(opened).pipeThrough(new TextDecoderStream()));
  for await (const line of lines) {
    if (line.trim() === "") continue;
    opened.body.endEvent();
    const data = jsonOf(line);
    if (isJsonObject(data)) yield { event: null, data };
    else if (first) yield { event: null, data: await wholeOf(line, lines, answer) };
    else throw new SyntaxError("a line of the answer is not a JSON object");
    first = false;
  }
}

async function wholeOf(first: string, others: AsyncIterable<string>, answer: Response): Promise<JsonValue> {
  let text = first;
  for await (const line of others) text += `\n${line}`;
  const value = jsonOf(text);
  if (isJsonObject(value)) return value;
  throw notAResponse(answer, text);
}
