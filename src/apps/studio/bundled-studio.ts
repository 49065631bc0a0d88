import { createEventLog } from "../../log/codec/event-log.ts";
import type { Envelope, EventStore } from "../../log/ports/event-store.ts";
import { codecs } from "../../providers/codecs.ts";
import { createMemoryStore } from "../../stores/memory/store.ts";
import { type Studio, type StudioStore, studioOver } from "./studio.ts";

/** What a page in one file holds: the lines of a bundle. */
export type BundledPage = { readonly lines: readonly string[]; readonly address: string; readonly isRedacted: boolean };

/** The same handler over a bundle, without the checks of an import, so that a redacted bundle can be looked at too. */
export async function bundledStudio({ lines, address, isRedacted }: BundledPage): Promise<Studio> {
  const events = createMemoryStore();
  for (const line of lines) {
    const value: unknown = line === "" ? null : JSON.parse(line);
    if (isEnvelope(value)) await append(events, value);
  }
  return studioOver({ store: readingStore(events), access: () => true, address }, { isRedacted });
}

const isEnvelope = (value: unknown): value is Envelope =>
  typeof value === "object" && value !== null && "stream" in value && "dataDigest" in value;

async function append(events: EventStore, envelope: Envelope): Promise<void> {
  const expectedHead = await events.head(envelope.stream);
  await events.append({ stream: envelope.stream, expectedHead, envelopes: [envelope] });
}

/** A store without anything that writes: a page has no need of it. */
function readingStore(events: EventStore): StudioStore {
  const log = createEventLog(events, { clock: Date.now, newEventId: () => "" });
  return {
    ...{ events, log, codecs },
    // What the first page does not need is loaded when it is asked for.
    bill: async (options) =>
      (await import("../../analysis/costs/store-bill.ts")).billConversations(events, options ?? {}),
    cache: async (options) => (await import("../../analysis/costs/cache.ts")).reportCaches(events, options ?? {}),
    search: async (text, options) =>
      (await import("../../analysis/lists/search.ts")).searchConversations(log, text, options ?? {}),
  };
}
