import { createParser, type EventSourceMessage } from "eventsource-parser";
import { isJsonList, type JsonValue, jsonOf } from "../../base/json.ts";
import type { MeteredBody } from "./metered-body.ts";

/** An event of a stream: its name, if it has one, and its data. */
export type ServerEvent = { readonly event: string | null; readonly data: JsonValue };

/** An answer whose first bytes were read. */
export type Opened = { readonly body: MeteredBody; readonly chunks: Uint8Array[] };

/**
 * The events of a stream, errors among them, until it ends or sends `[DONE]`. It skips what has no data (a comment, an event with only a
 * name): that only keeps the connection open.
 *
 * @throws {SyntaxError} if an event's data are not JSON.
 * @throws {ProviderError} if the stream exceeds a limit.
 */
export async function* serverEvents({ body, chunks }: Opened): AsyncGenerator<ServerEvent, void> {
  const waiting: EventSourceMessage[] = [];
  const parser = createParser({ onEvent: (event) => waiting.push(event) });
  const decoder = new TextDecoder();
  try {
    for (let isOver = false; !isOver; ) {
      const chunk = chunks.shift() ?? (await body.read());
      isOver = chunk === null;
      // Some servers omit the empty line after their last event.
      parser.feed(chunk === null ? `${decoder.decode()}\n\n` : decoder.decode(chunk, { stream: true }));
      for (const { event = null, data: text } of waiting.splice(0)) {
        body.endEvent();
        const told = text.trim();
        if (told === "[DONE]") return;
        const data = told === "" ? undefined : jsonOf(told);
        // Google's servers put an error into a list.
        if (data !== undefined) for (const each of isJsonList(data) ? data : [data]) yield { event, data: each };
        else if (told !== "" && !isKeepAlive(event)) throw new SyntaxError("an event of the stream is not JSON");
      }
    }
  } finally {
    void body.cancel();
  }
}

/** Some servers send the time with it. */
const isKeepAlive = (event: string | null): boolean => /^(ping|heartbeat|keep-?alive)$/i.test(event ?? "");
