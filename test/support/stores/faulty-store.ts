import type { EventStore } from "../../../src/log/ports/event-store.ts";
import { StoreUnavailableError } from "../../../src/log/ports/store-errors.ts";

export type Faults = {
  /** The calls of the store that fail, counted from 1, and whether they fail before or after they took effect. */
  readonly fails: (call: number) => "before" | "after" | null;
};

/** A store of which some calls fail, as a network does. */
export function createFaultyStore(
  store: EventStore,
  { fails }: Faults,
): EventStore & { readonly faults: () => number } {
  let calls = 0;
  let faults = 0;
  async function call<T>(work: () => Promise<T>): Promise<T> {
    calls += 1;
    const moment = fails(calls);
    if (moment !== null) faults += 1;
    if (moment === "before") throw new StoreUnavailableError("the store was not reached");
    const answer = await work();
    if (moment === "after") throw new StoreUnavailableError("the store's answer was lost");
    return answer;
  }
  return {
    storeId: store.storeId,
    ...(store.takesLines === undefined ? {} : { takesLines: store.takesLines.bind(store) }),
    ...(store.namingKey === undefined ? {} : { namingKey: store.namingKey.bind(store) }),
    append: (prepared) => call(() => store.append(prepared)),
    head: (stream) => call(() => store.head(stream)),
    async *readStream(stream, options) {
      await call(async () => undefined);
      yield* store.readStream(stream, options);
    },
    readLog: (options) => store.readLog(options),
    subscribe: (options) => store.subscribe(options),
    heads: (streamPrefix) => store.heads(streamPrefix),
    close: () => store.close(),
    [Symbol.asyncDispose]: () => store.close(),
    faults: () => faults,
  };
}
