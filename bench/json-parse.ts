import { decodeData } from "../src/log/codec/data.ts";
import { joinLines } from "../src/log/codec/lines.ts";
import type { Envelope } from "../src/log/ports/event-store.ts";

/** An event's data as one JSON text, however it is written: what a rebuild is compared with parsing. */
export const jsonOfData = (envelope: Envelope): string => JSON.stringify(decodeData(envelope).data);

/** Parses what a store holds of an event's data, and does nothing with it. */
export function parseStored({ encoding, data }: Envelope): void {
  if (encoding === "lines") joinLines(data);
  else JSON.parse(data);
}
