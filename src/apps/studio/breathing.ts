import type { EventStore } from "../../log/ports/event-store.ts";

/** So long a reader keeps the process before others have their turn. */
const breathMs = 20;

/**
 * The same store for long work that goes on beside other requests: reads let them have their turn, and heads are not saved, because a page that
 * looks on writes nothing.
 */
export function breathing(store: EventStore): EventStore {
  let since = performance.now();
  async function* readStream(...given: Parameters<EventStore["readStream"]>): ReturnType<EventStore["readStream"]> {
    for await (const envelope of store.readStream(...given)) {
      if (performance.now() - since > breathMs) {
        await new Promise((resolve) => setTimeout(resolve, 0));
        since = performance.now();
      }
      yield envelope;
    }
  }
  return new Proxy(store, {
    get(target, name) {
      if (name === "readStream") return readStream;
      if (name === "saveHeads") return undefined;
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== "function") return value;
      // A store's methods may be of a class with private members.
      const method: unknown = value.bind(target);
      return method;
    },
  });
}
