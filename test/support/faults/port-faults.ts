import { type EventStore, type StoredEnvelope, StoreUnavailableError } from "../../../src/log/ports/event-store.ts";
import type { SnapshotStore } from "../../../src/log/ports/snapshot-store.ts";
import type { ViewRow, ViewStore } from "../../../src/log/ports/view-store.ts";
import { snapshotsOf } from "../stores/snapshots-of.ts";

/** A port of a store that is read. */
export const ports = ["events", "snapshots", "views"] as const;
export type Port = (typeof ports)[number];

/** What becomes of one read: it is refused, or gives what is damaged; or somebody deletes all snapshots right before it. */
export const faultKinds = ["fails", "flips", "finds all snapshots deleted"] as const;

export type PortFault = {
  readonly port: Port;
  /** The read that meets it, from 1. */
  readonly at: number;
  readonly kind: (typeof faultKinds)[number];
};

/** A store of which one read fails or gives something damaged, once. It counts the reads of each port. */
export function storeWithFault(store: EventStore, fault: PortFault | null) {
  const reads = { events: 0, snapshots: 0, views: 0 };
  const snapshots = snapshotsOf(store);
  const { views } = store;
  if (views === undefined) throw new Error("the store keeps no rows");

  async function read<T>(port: Port, work: () => Promise<T>, damaged: (found: T) => T): Promise<T> {
    reads[port] += 1;
    if (fault?.port !== port || reads[port] !== fault.at) return work();
    if (fault.kind === "fails") throw new StoreUnavailableError("this read fails");
    if (fault.kind === "flips") return damaged(await work());
    await snapshots.deleteAll();
    return work();
  }
  async function* events(of: AsyncIterable<StoredEnvelope>): AsyncIterable<StoredEnvelope> {
    let isFirst = true;
    for await (const envelope of of) {
      if (isFirst) yield await read("events", async () => envelope, unreadable);
      else yield envelope;
      isFirst = false;
    }
    if (isFirst) await read("events", async () => undefined, same);
  }
  const readable: EventStore & { readonly snapshots: SnapshotStore; readonly views: ViewStore } = {
    ...store,
    head: (stream) => read("events", () => store.head(stream), same),
    readStream: (stream, options) => events(store.readStream(stream, options)),
    readLog: (options) => events(store.readLog(options)),
    snapshots: {
      ...snapshots,
      get: (key, atMost) =>
        read(
          "snapshots",
          () => snapshots.get(key, atMost),
          (found) => found && { ...found, data: flipped(found.data) },
        ),
    },
    views: {
      ...views,
      builds: (projection) => read("views", () => views.builds(projection), same),
      row: (build, key) =>
        read(
          "views",
          () => views.row(build, key),
          (row) => row && damagedRow(row),
        ),
      rows: (build, page) =>
        read(
          "views",
          () => views.rows(build, page),
          (rows) => rows.map(damagedRow),
        ),
      listed: (build, page) =>
        read(
          "views",
          () => views.listed(build, page),
          (rows) => rows.map((row) => ({ ...damagedRow(row), at: row.at })),
        ),
      containing: (build, texts) => read("views", () => views.containing(build, texts), same),
    },
  };
  return { events: readable, reads };
}

const same = <T>(found: T): T => found;

/** What folds do not compare is no damage that they could see: the event stops being JSON. */
const unreadable = (envelope: StoredEnvelope): StoredEnvelope => ({ ...envelope, data: envelope.data.slice(1) });

const damagedRow = (row: ViewRow): ViewRow => ({ ...row, view: row.view.slice(1) });

function flipped(text: string): string {
  const place = Math.floor(text.length / 2);
  const other = text[place] === "1" ? "2" : "1";
  return `${text.slice(0, place)}${other}${text.slice(place + 1)}`;
}
