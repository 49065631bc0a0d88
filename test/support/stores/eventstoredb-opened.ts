import { onTestFinished } from "vitest";
import { type PreparedOptions, prepared } from "../../../src/contracts/prepared.ts";
import type { PreparedAppend } from "../../../src/log/ports/event-store.ts";
import { serverEventOf } from "../../../src/stores/eventstoredb/envelope.ts";
import {
  type EventStoreDbOptions,
  type EventStoreDbStore,
  openEventStoreDb,
} from "../../../src/stores/eventstoredb/store.ts";
import {
  type EventStoreDbServer,
  type EventStoreDbServerOptions,
  startEventStoreDbServer,
} from "../eventstoredb/server.ts";

/** A server that ends with the test; call inside a test or a hook of one. */
export async function startServer(options: EventStoreDbServerOptions = {}): Promise<EventStoreDbServer> {
  const server = await startEventStoreDbServer(options);
  onTestFinished(() => server.stop());
  return server;
}

/** A store that is closed with the test. It says nothing of what it survives. */
export async function opened(url: string, options: EventStoreDbOptions = {}): Promise<EventStoreDbStore> {
  const store = await openEventStoreDb(url, { viewsPath: ":memory:", warn: () => undefined, ...options });
  onTestFinished(() => store.close());
  return store;
}

/** The address with one more setting. */
export const withSetting = (url: string, setting: string): string => `${url}${url.includes("?") ? "&" : "?"}${setting}`;

/** What another process of turnlog writes, without a wire. */
export function writeAside(server: EventStoreDbServer, options: PreparedOptions): PreparedAppend {
  const sent = prepared(options);
  server.write(
    sent.stream,
    sent.envelopes.map((envelope) => ({ ...serverEventOf(envelope), isJson: true })),
  );
  return sent;
}
