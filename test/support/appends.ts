import type { AppendResult, EventStore, PreparedAppend } from "../../src/log/ports/event-store.ts";

/** Stands around every append of a store: it may wait, fail before or after, or never answer. */
export type AroundAppend = (
  prepared: PreparedAppend,
  append: () => Promise<AppendResult>,
  /** How many appends came before, repeats included. */
  number: number,
) => Promise<AppendResult>;

/** A store that tells which appends it was asked for. */
export type WatchedStore = EventStore & {
  /** The event types of every append that was written, in order. */
  readonly written: readonly (readonly string[])[];
};

export function watchStore(store: EventStore, around: AroundAppend = (_, append) => append()): WatchedStore {
  const written: (readonly string[])[] = [];
  let asked = 0;
  return {
    storeId: store.storeId,
    ...(store.snapshots === undefined ? {} : { snapshots: store.snapshots }),
    ...(store.views === undefined ? {} : { views: store.views }),
    ...(store.liveness === undefined ? {} : { liveness: store.liveness }),
    ...(store.takesLines === undefined ? {} : { takesLines: store.takesLines.bind(store) }),
    ...(store.namingKey === undefined ? {} : { namingKey: store.namingKey.bind(store) }),
    written,
    async append(prepared) {
      asked += 1;
      return around(
        prepared,
        async () => {
          const result = await store.append(prepared);
          if (result.status === "appended") written.push(prepared.envelopes.map(({ type }) => type));
          return result;
        },
        asked - 1,
      );
    },
    readStream: (stream, options) => store.readStream(stream, options),
    readLog: (options) => store.readLog(options),
    subscribe: (options) => store.subscribe(options),
    head: (stream) => store.head(stream),
    heads: (streamPrefix) => store.heads(streamPrefix),
    close: () => store.close(),
    [Symbol.asyncDispose]: () => store.close(),
  };
}
