import type { Actor } from "../../domain/actor.ts";
import type { EventLog } from "../codec/event-log.ts";
import type { AnyEvent } from "../codec/prepare.ts";
import { streamContended } from "../writer/conversation-writer.ts";

/** How often to retry a record if another writer was first. */
const maxAttempts = 50;

/** Appends an event of the store itself, regardless of concurrent appends to its stream. */
export async function appendRecord(log: EventLog, stream: string, event: AnyEvent, actor: Actor): Promise<void> {
  await appendMade(log, stream, { make: async () => event, actor });
}

type Making<Event> = { readonly make: () => Promise<Event>; readonly actor: Actor };

/** The same for an event that depends on the stream: it is made again if another writer was first. Returns it as appended. */
export async function appendMade<Event extends AnyEvent>(
  log: EventLog,
  stream: string,
  { make, actor }: Making<Event>,
): Promise<Event> {
  for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
    const head = await log.store.head(stream);
    const event = await make();
    const { status } = await log.append(stream, head, [{ event, actor }]);
    if (status === "appended") return event;
  }
  throw streamContended(stream);
}
