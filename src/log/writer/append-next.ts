import type { EventLog } from "../codec/event-log.ts";
import type { NewEvent } from "../codec/prepare.ts";
import { streamContended } from "./conversation-writer.ts";

const maxAttempts = 50;

/** Appends at the head of a stream whatever it is, without a decision. */
export async function appendNext(log: EventLog, stream: string, entries: readonly NewEvent[]): Promise<void> {
  for (let attempt = 1; attempt <= maxAttempts; attempt += 1) {
    const result = await log.append(stream, await log.store.head(stream), entries);
    if (result.status === "appended") return;
  }
  throw streamContended(stream);
}
