import { createParser, type EventSourceMessage } from "eventsource-parser";
import { isJsonList, type JsonValue, jsonOf } from "../../base/json.ts";
import type { MeteredBody } from "./metered-body.ts";

/** An event of a stream: its name, where it has one, and what its data say. */
export type ServerEvent = { readonly event: string | null; readonly data: JsonValue };

/** An answer of which the first bytes were read. */
export type Opened = { readonly body: MeteredBody; readonly chunks: Uint8Array[] };

/**
 * The events of a stream, errors among them, until it ends or says `[DONE]`. What carries no data (a comment, an event of a name only) keeps
 * connections open and says nothing, so it is passed over.
 *
 * @throws {SyntaxError} for an event whose data are no JSON.
 * @throws {ProviderError} when the stream goes past a limit.
 */
export async function* serverEvents({ body, chunks }: Opened): AsyncGenerator<ServerEvent, void> {
  const waiting: EventSourceMessage[] = [];
  const parser = createParser({ onEvent: (event) => waiting.push(event) });
  const decoder = new TextDecoder();
  try {
    for (let isOver = false; !isOver; ) {
      const chunk = chunks.shift() ?? (await body.read());
      isOver = chunk === null;
      // Some servers leave out the empty line behind their last event.
      parser.feed(chunk === null ? `${decoder.decode()}\n\n` : decoder.decode(chunk, { stream: true }));
      for (const { event = null, data: text } of waiting.splice(0)) {
        body.endEvent();
        const told = text.trim();
        if (told === "[DONE]") return;
        const data = told === "" ? undefined : jsonOf(told);
        // Google's servers put an error into a list.
        if (data !== undefined) for (const each of isJsonList(data) ? data : [data]) yield { event, data: each };
        else if (told !== "" && !isKeepAlive(event)) throw new SyntaxError("an event of the stream is no JSON");
      }
    }
  } finally {
    void body.cancel();
  }
}

/** Some servers say the time with it. */
const isKeepAlive = (event: string | null): boolean => /^(ping|heartbeat|keep-?alive)$/i.test(event ?? "");
