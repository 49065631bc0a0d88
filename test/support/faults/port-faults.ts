import type { EventStore, StoredEnvelope } from "../../../src/log/ports/event-store.ts";
import type { Liveness } from "../../../src/log/ports/liveness.ts";
import type { SnapshotStore } from "../../../src/log/ports/snapshot-store.ts";
import { StoreUnavailableError } from "../../../src/log/ports/store-errors.ts";
import type { ViewRow, ViewStore } from "../../../src/log/ports/view-store.ts";
import { snapshotsOf } from "../stores/snapshots-of.ts";

/** The ports of a store. */
export const ports = ["events", "snapshots", "views", "liveness"] as const;
export type Port = (typeof ports)[number];

/**
 * What becomes of one call: it is refused; a read gives what is damaged, and of a write the answer is lost once it took effect; or
 * somebody deletes all snapshots right before it.
 */
export const faultKinds = ["fails", "flips", "finds all snapshots deleted"] as const;

export type PortFault = {
  readonly port: Port;
  /** The call that meets it, from 1. */
  readonly at: number;
  readonly kind: (typeof faultKinds)[number];
};

type FaultyStore = EventStore & { readonly snapshots: SnapshotStore; readonly views: ViewStore };

/** A store of which one call fails or gives something damaged, once. It counts the calls of each port, and says which they were. */
export function storeWithFault(store: EventStore, fault: PortFault | null) {
  const calls: Record<Port, string[]> = { events: [], snapshots: [], views: [], liveness: [] };
  const snapshots = snapshotsOf(store);
  const { views, liveness = noOwnerLives } = store;
  if (views === undefined) throw new Error("the store keeps no rows");

  async function call<T>(port: Port, method: string, work: () => Promise<T>, broken: () => Promise<T>): Promise<T> {
    calls[port].push(method);
    if (fault?.port !== port || calls[port].length !== fault.at) return work();
    if (fault.kind === "fails") throw new StoreUnavailableError("this call fails");
    if (fault.kind === "flips") return broken();
    await snapshots.deleteAll();
    return work();
  }
  const read = <T>(port: Port, method: string, work: () => Promise<T>, damaged = same<T>): Promise<T> =>
    call(port, method, work, async () => damaged(await work()));
  const write = <T>(port: Port, method: string, work: () => Promise<T>): Promise<T> =>
    call(port, method, work, async () => {
      await work();
      throw new StoreUnavailableError("the answer to this call was lost");
    });
  async function* each<T>(method: string, of: AsyncIterable<T>, damaged = same<T>): AsyncIterable<T> {
    let isFirst = true;
    for await (const one of of) {
      if (isFirst) yield await read("events", method, async () => one, damaged);
      else yield one;
      isFirst = false;
    }
    if (isFirst) await read("events", method, async () => undefined);
  }
  const events: FaultyStore = {
    ...store,
    append: (prepared) => write("events", "append", () => store.append(prepared)),
    head: (stream) => read("events", "head", () => store.head(stream)),
    end: () => read("events", "end", async () => (await store.end?.()) ?? null),
    heads: (prefix) => each("heads", store.heads(prefix)),
    readStream: (stream, options) => each("readStream", store.readStream(stream, options), unreadable),
    readLog: (options) => each("readLog", store.readLog(options), unreadable),
    subscribe: (options) => each("subscribe", store.subscribe(options), unreadable),
    snapshots: {
      get: (key, atMost) =>
        read(
          "snapshots",
          "get",
          () => snapshots.get(key, atMost),
          (found) => found && { ...found, data: flipped(found.data) },
        ),
      put: (key, snapshot) => write("snapshots", "put", () => snapshots.put(key, snapshot)),
      deleteAll: () => write("snapshots", "deleteAll", () => snapshots.deleteAll()),
    },
    views: {
      builds: (projection) => read("views", "builds", () => views.builds(projection)),
      begin: (projection, version) => write("views", "begin", () => views.begin(projection, version)),
      save: (build, batch) => write("views", "save", () => views.save(build, batch)),
      publish: (build) => write("views", "publish", () => views.publish(build)),
      row: (build, key) =>
        read(
          "views",
          "row",
          () => views.row(build, key),
          (row) => row && damagedRow(row),
        ),
      rows: (build, page) =>
        read(
          "views",
          "rows",
          () => views.rows(build, page),
          (rows) => rows.map(damagedRow),
        ),
      listed: (build, page) =>
        read(
          "views",
          "listed",
          () => views.listed(build, page),
          (rows) => rows.map((row) => ({ ...damagedRow(row), at: row.at })),
        ),
      countListed: (build, range) => read("views", "countListed", () => views.countListed(build, range)),
      places: (build, key) => read("views", "places", () => views.places(build, key)),
      containing: (build, texts) => read("views", "containing", () => views.containing(build, texts)),
      degraded: (build) => read("views", "degraded", () => views.degraded(build)),
    },
    liveness: {
      hold: () => write("liveness", "hold", () => liveness.hold()),
      isAlive: (lease) => read("liveness", "isAlive", () => liveness.isAlive(lease)),
    },
  };
  return { events, calls };
}

/** Leases of processes that are gone, but for the one that asks. */
const noOwnerLives: Liveness = { hold: async () => "lse_this", isAlive: async (lease) => lease === "lse_this" };

const same = <T>(found: T): T => found;

/** What folds do not compare is no damage that they could see: the event stops being JSON. */
const unreadable = (envelope: StoredEnvelope): StoredEnvelope => ({ ...envelope, data: envelope.data.slice(1) });

const damagedRow = (row: ViewRow): ViewRow => ({ ...row, view: row.view.slice(1) });

function flipped(text: string): string {
  const place = Math.floor(text.length / 2);
  const other = text[place] === "1" ? "2" : "1";
  return `${text.slice(0, place)}${other}${text.slice(place + 1)}`;
}
