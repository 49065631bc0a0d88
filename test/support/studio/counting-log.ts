import type { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import type { EventLog } from "../../../src/log/codec/event-log.ts";

/** The log of a store, and how many events were read from it. */
export type CountingLog = { readonly log: EventLog; read: number };

export function countingLog({ log, events }: Pick<TurnlogStore, "log" | "events">): CountingLog {
  const counting: CountingLog = {
    read: 0,
    log: {
      ...log,
      store: {
        ...log.store,
        async *readStream(...asked) {
          for await (const envelope of events.readStream(...asked)) {
            counting.read += 1;
            yield envelope;
          }
        },
      },
    },
  };
  return counting;
}
