import { onTestFinished } from "vitest";
import type { EventStore, PreparedAppend } from "../../../src/log/ports/event-store.ts";
import { serverEventOf } from "../../../src/stores/eventstoredb/envelope.ts";
import type { EventStoreDbOptions, EventStoreDbStore } from "../../../src/stores/eventstoredb/open.ts";
import { openWithPace } from "../../../src/stores/eventstoredb/open.ts";
import { openEventStoreDb } from "../../../src/stores/eventstoredb/store.ts";
import type { LeasePace } from "../../../src/stores/leases/lease-watch.ts";
import { type PreparedOptions, prepared } from "../../../src/testing/contracts/prepared.ts";
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

/** What a store of a test is given beside the options of everybody. */
export type OpenedOptions = EventStoreDbOptions & {
  /** How leases are renewed and judged; as for everybody when absent. */
  readonly pace?: LeasePace;
};

/** A store that is closed with the test. It says nothing of what it survives. */
export async function opened(url: string, { pace, ...options }: OpenedOptions = {}): Promise<EventStoreDbStore> {
  const given = { viewsPath: ":memory:", warn: () => undefined, ...options };
  const store = await (pace === undefined ? openEventStoreDb(url, given) : openWithPace(url, given, pace));
  onTestFinished(() => store.close());
  addresses.set(store, url);
  return store;
}

const addresses = new WeakMap<EventStore, string>();

/** Another store object at the address of one, as another process has it. */
export const openedAgain = (store: EventStore): Promise<EventStoreDbStore> => opened(addresses.get(store) ?? "");

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
