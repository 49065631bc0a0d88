import { TurnlogError } from "../../base/turnlog-error.ts";
import { type ConversationId, conversationOfStream } from "../../domain/ids.ts";
import {
  type ErasedStream,
  type EventStore,
  type Head,
  type OrphanEvents,
  ofStream,
  type StoredEnvelope,
} from "../ports/event-store.ts";
import type { SnapshotStore } from "../ports/snapshot-store.ts";
import type { ViewStore } from "../ports/view-store.ts";

/** The access that a caller wants: to one stream, or to all streams with a prefix (`*` for every stream). */
export type AccessRequest = {
  /** `approve`: to decide about calls that wait for approval in the conversation, which also needs `append`. */
  readonly action: "append" | "read" | "subscribe" | "approve";
  /** A stream's name (`conversation-cnv_…`), or a prefix and `*`. */
  readonly stream: string;
};

/**
 * Return `true`, or a promise of it, to allow; any other value denies, even a truthy one. Capture the current user in
 * the closure.
 */
export type Authorize = (request: AccessRequest) => boolean | Promise<boolean>;

/** What a caller wants to erase: the events of a conversation from one revision to another, both included. */
export type ErasureRequest = {
  /** More kinds of requests may come. */
  readonly action: "erase";
  readonly conversation: ConversationId;
  readonly places: readonly { readonly from: number; readonly to: number }[];
};

/**
 * Return `true`, or a promise of it, to allow; any other value denies. A hook of its own, because one that allows appends may say yes to every
 * action that it does not know.
 */
export type MayErase = (request: ErasureRequest) => boolean | Promise<boolean>;

/** Runs `go` if the hook allows the request. */
type Allowed = <T>(request: AccessRequest, go: () => Promise<T>) => Promise<T>;

/**
 * A store that asks one hook before every append, read, subscription and approval. Heads are reads. Rows of projections may hold any
 * conversation, so they need the right to read all. A snapshot needs the rights to its stream, because others read what is saved there.
 *
 * @param mayErase - Asked for every conversation to erase. Without it, this store cannot erase.
 */
export function authorizedStore(store: EventStore, authorize: Authorize, mayErase?: MayErase): EventStore {
  // If the hook returns at once, do not wait, so that calls keep their order.
  async function allowed<T>(request: AccessRequest, go: () => Promise<T>): Promise<T> {
    // JavaScript callers have no types, so the hook may return anything.
    const said: unknown = authorize(request);
    if (said === true || (await said) === true) return go();
    throw new TurnlogError("access-denied", `not allowed to ${request.action} ${request.stream}`);
  }
  async function* after<T>(request: AccessRequest, events: () => AsyncIterable<T>): AsyncIterable<T> {
    yield* await allowed(request, async () => events());
  }
  const all = (prefix = ""): string => `${prefix}*`;
  const end = store.end?.bind(store);
  const newestStream = store.newestStream?.bind(store);
  const namingKey = store.namingKey?.bind(store);
  const orphans = async (): Promise<readonly OrphanEvents[]> => (await store.orphanEvents?.()) ?? [];

  const readAll = { action: "read", stream: all() } as const;
  const savedHeads = async (): Promise<ReadonlyMap<string, Head>> => (await store.savedHeads?.()) ?? new Map();
  const saveHeads = async (): Promise<void> => store.saveHeads?.();

  return {
    storeId: store.storeId,
    ...(store.deadlineMs === undefined ? {} : { deadlineMs: store.deadlineMs }),
    ...(store.snapshots === undefined ? {} : { snapshots: guardedSnapshots(store.snapshots, allowed) }),
    ...(store.views === undefined ? {} : { views: guardedViews(store.views, allowed) }),
    ...(store.liveness === undefined ? {} : { liveness: store.liveness }),
    append: (prepared) => allowed({ action: "append", stream: prepared.stream }, () => store.append(prepared)),
    readStream: (stream, options) => after({ action: "read", stream }, () => store.readStream(stream, options)),
    readLog: (options) => after({ action: "read", stream: all(options?.streamPrefix) }, () => store.readLog(options)),
    subscribe: (options = {}) => {
      const { stream, streamPrefix } = options;
      const events = (): AsyncIterable<StoredEnvelope> => store.subscribe(options);
      if (stream === undefined) return after({ action: "subscribe", stream: all(streamPrefix) }, events);
      return after({ action: "subscribe", stream }, () => ofStream(events(), stream));
    },
    ...(store.takesLines === undefined ? {} : { takesLines: store.takesLines.bind(store) }),
    ...(namingKey === undefined
      ? {}
      : { namingKey: (stream) => allowed({ action: "read", stream }, () => namingKey(stream)) }),
    // A position reveals only the length of the log, no content.
    ...(end === undefined ? {} : { end }),
    head: (stream) => allowed({ action: "read", stream }, () => store.head(stream)),
    heads: (prefix) => after({ action: "read", stream: all(prefix) }, () => store.heads(prefix)),
    ...(newestStream === undefined
      ? {}
      : { newestStream: (prefix) => allowed({ action: "read", stream: all(prefix) }, () => newestStream(prefix)) }),
    ...(store.orphanEvents === undefined ? {} : { orphanEvents: () => allowed(readAll, orphans) }),
    ...(store.savedHeads === undefined ? {} : { savedHeads: () => allowed(readAll, savedHeads) }),
    ...(store.saveHeads === undefined ? {} : { saveHeads: () => allowed(readAll, saveHeads) }),
    ...(mayErase === undefined ? {} : erasingBy(store, mayErase)),
    checkApproval: (stream) => allowed({ action: "approve", stream }, async () => store.checkApproval?.(stream)),
    close: () => store.close(),
    [Symbol.asyncDispose]: () => store.close(),
  };
}

/** The erasing members of a store, each asking the hook first. */
function erasingBy(
  store: EventStore,
  mayErase: MayErase,
): Pick<EventStore, "checkErasure" | "erase" | "files" | "scrub"> {
  const erase = store.erase?.bind(store);
  const scrub = store.scrub?.bind(store);
  if (erase === undefined || scrub === undefined) return {};
  async function checkErasure(streams: readonly ErasedStream[]): Promise<void> {
    for (const { stream, places } of streams) {
      const conversation = conversationOfStream(stream);
      const said: unknown = conversation !== null && (await mayErase({ action: "erase", conversation, places }));
      if (said !== true) throw new TurnlogError("access-denied", `not allowed to erase ${conversation ?? stream}`);
    }
  }
  return {
    checkErasure,
    async erase(erasure) {
      await checkErasure([
        ...erasure.fences.map(({ stream, expectedHead }) => ({
          ...{ stream, places: [{ from: 0, to: expectedHead?.revision ?? -1 }] },
        })),
        ...erasure.lines.map(({ fence, places }) => ({
          ...{ stream: fence.stream, places: places.map(({ revision }) => ({ from: revision, to: revision })) },
        })),
      ]);
      return erase(erasure);
    },
    scrub,
    ...(store.files === undefined ? {} : { files: store.files.bind(store) }),
  };
}

const guardedSnapshots = (snapshots: SnapshotStore, allowed: Allowed): SnapshotStore => ({
  get: (key, atMost) => allowed({ action: "read", stream: key.stream }, () => snapshots.get(key, atMost)),
  put: (key, snapshot, seen) =>
    allowed({ action: "append", stream: key.stream }, () => snapshots.put(key, snapshot, seen)),
  deleteAll: () => allowed({ action: "append", stream: "*" }, () => snapshots.deleteAll()),
});

function guardedViews(views: ViewStore, allowed: Allowed): ViewStore {
  const guarded = <T>(go: () => Promise<T>): Promise<T> => allowed({ action: "read", stream: "conversation-*" }, go);
  return {
    builds: (projection) => guarded(() => views.builds(projection)),
    begin: (projection, version) => guarded(() => views.begin(projection, version)),
    save: (build, batch) => guarded(() => views.save(build, batch)),
    publish: (build) => guarded(() => views.publish(build)),
    row: (build, key) => guarded(() => views.row(build, key)),
    rows: (build, page) => guarded(() => views.rows(build, page)),
    listed: (build, page) => guarded(() => views.listed(build, page)),
    countListed: (build, range) => guarded(() => views.countListed(build, range)),
    places: (build, key) => guarded(() => views.places(build, key)),
    containing: (build, texts) => guarded(() => views.containing(build, texts)),
    degraded: (build) => guarded(() => views.degraded(build)),
  };
}
