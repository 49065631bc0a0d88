import type { JsonObject } from "../../../src/base/json.ts";
import { decodeData, lineWriter } from "../../../src/log/codec/data.ts";
import { dataDigestOf } from "../../../src/log/codec/envelope.ts";
import type { Envelope } from "../../../src/log/ports/event-store.ts";

type Written = Pick<Envelope, "encoding" | "type" | "version" | "data">;

/** An event's data after a change, and its digest, written as the event is. */
export function changedData(
  event: Written,
  change: (data: JsonObject) => JsonObject,
  changeText: (text: string) => string = (text) => text,
): Pick<Envelope, "data" | "dataDigest"> {
  const write = event.encoding === "lines" ? lineWriter(event) : JSON.stringify;
  const data = changeText(write(change(decodeData(event).data)));
  return { data, dataDigest: dataDigestOf({ ...event, data }) };
}
