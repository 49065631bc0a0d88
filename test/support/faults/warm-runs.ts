import { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import type { RunResult } from "../../../src/engine/options/result.ts";
import { interceptedBy } from "../../../src/engine/run/run-options.ts";
import type { WarmUp } from "../../../src/engine/run/warm-up-now.ts";
import type { EventStore } from "../../../src/log/ports/event-store.ts";
import { createFaultyStore } from "../stores/faulty-store.ts";
import { engineOf, type holdAt, noon, type Place } from "./crash-world.ts";

type Held = ReturnType<typeof holdAt>;

/** What a process does with a conversation: held as it runs, and as it warms up, at durable writes and at requests. */
export function playerOf(place: Place, store: TurnlogStore, id: string, { gate, pass }: Pick<Held, "gate" | "pass">) {
  let isWarming = false;
  const held = async <T>(kind: "append" | "inference", work: () => Promise<T>): Promise<T> => {
    if (!isWarming) return work();
    await pass(kind, "before");
    const done = await work();
    await pass(kind, "after");
    return done;
  };
  const own = place.isWarm ? storeHeld(store, (append) => held("append", append)) : store;
  const conversation = own.conversation(id);
  const engine = engineOf(place, id, (provider) => ({
    ...provider,
    infer: (request) => held("inference", () => provider.infer(request)),
  }));
  return {
    conversation,
    engine,
    async warmUp(): Promise<WarmUp> {
      isWarming = true;
      try {
        return await conversation.warmUp(engine);
      } finally {
        isWarming = false;
      }
    },
    run: (): Promise<RunResult> => conversation.run(engine, interceptedBy(gate, {})),
    resume: (): Promise<RunResult | null> => conversation.resume(engine, interceptedBy(gate, {})),
  };
}

/** The same store, each of whose appends goes this way. */
function storeHeld(
  { events, codecs }: TurnlogStore,
  held: (append: () => ReturnType<EventStore["append"]>) => ReturnType<EventStore["append"]>,
): TurnlogStore {
  const whole = createFaultyStore(events, { fails: () => null });
  const append: EventStore["append"] = (prepared) => held(() => events.append(prepared));
  return new TurnlogStore({ ...whole, append }, { clock: () => noon, codecs: [...codecs.values()] });
}
