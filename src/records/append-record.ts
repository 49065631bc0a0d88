import type { Actor } from "../domain/actor.ts";
import type { EventLog } from "../log/codec/event-log.ts";
import type { AnyEvent } from "../log/codec/prepare.ts";
import { streamContended } from "../log/writer/conversation-writer.ts";

/** How often to retry a record if another writer was first. */
const maxAttempts = 50;

/** Appends an event of the store itself, regardless of concurrent appends to its stream. */
export async function appendRecord(log: EventLog, stream: string, event: AnyEvent, actor: Actor): Promise<void> {
  for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
    const head = await log.store.head(stream);
    const { status } = await log.append(stream, head, [{ event, actor }]);
    if (status === "appended") return;
  }
  throw streamContended(stream);
}
