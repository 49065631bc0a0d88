import { onTestFinished } from "vitest";
import type { Conversation } from "../../src/conversation/conversation.ts";
import { TurnlogStore } from "../../src/conversation/turnlog-store.ts";
import type { ConversationEvent } from "../../src/domain/events/event.ts";
import { isHole, type RecordedEvent } from "../../src/domain/events/recorded.ts";
import { createEngine, type EngineConfig } from "../../src/engine/options/create-engine.ts";
import type { Engine } from "../../src/engine/options/engine.ts";
import type { Codec } from "../../src/engine/ports/codec.ts";
import type { EventStore } from "../../src/log/ports/event-store.ts";
import { type ScriptedProvider, scripted } from "../../src/providers/scripted/scripted.ts";
import { createMemoryStore } from "../../src/stores/memory/store.ts";
import { openSqliteStore } from "../../src/stores/sqlite/store.ts";
import { type AroundAppend, type WatchedStore, watchStore } from "./appends.ts";
import { temporaryFolder } from "./stores/temporary-folder.ts";

/** A store with a clock that moves by hand and ids that count, and what it takes to talk. */
export type Workshop = {
  readonly store: TurnlogStore;
  readonly watched: WatchedStore;
  readonly conversation: Conversation;
  readonly clock: { now: number };
  /** How long its engines have waited before they asked again, in milliseconds: the clock moves, nobody waits. */
  readonly waits: readonly number[];
  /** An engine on the workshop's clock and ids. */
  readonly engine: (config: EngineConfig) => Engine;
  /** The same on a script. */
  readonly scripted: (answers: Parameters<typeof scripted>[0], config?: Partial<EngineConfig>) => Scripted;
};

type Scripted = { readonly engine: Engine; readonly provider: ScriptedProvider };

export type WorkshopOptions = {
  readonly events?: EventStore;
  readonly around?: AroundAppend;
  readonly codecs?: readonly Codec[];
  readonly encoding?: "json" | "lines";
};

/** 1 March 2026, 12:00 UTC. */
const noon = 1_772_366_400_000;

export function createWorkshop(options: WorkshopOptions = {}): Workshop {
  const { events = createMemoryStore(), around, codecs = [], encoding = "lines" } = options;
  const watched = watchStore(events, around);
  const clock = { now: noon };
  const store = new TurnlogStore(watched, { codecs, encoding, clock: () => clock.now, pause: async () => undefined });
  onTestFinished(() => store.close());
  let ids = 0;
  const waits: number[] = [];
  const engine = (config: EngineConfig): Engine =>
    createEngine({
      clock: () => clock.now,
      newId: (prefix) => {
        ids += 1;
        return `${prefix}_${String(ids).padStart(16, "0")}`;
      },
      sleep: async (ms) => {
        waits.push(ms);
        clock.now += ms;
      },
      ...config,
    });
  return {
    store,
    watched,
    clock,
    waits,
    engine,
    conversation: store.conversation("cnv_workshop"),
    scripted(answers, config = {}) {
      const provider = scripted(answers);
      return { provider, engine: engine({ provider, ...config }) };
    },
  };
}

/** The kinds of store that a run has to work on. */
export const storeKinds = ["memory", "sqlite"] as const;

/** A fresh store of a kind; call inside a test. */
export async function freshStore(kind: (typeof storeKinds)[number]): Promise<EventStore> {
  return kind === "memory" ? createMemoryStore() : openSqliteStore(temporaryFolder().file("turnlog.db"));
}

export async function eventsOf(conversation: Conversation): Promise<readonly RecordedEvent[]> {
  const events: RecordedEvent[] = [];
  for await (const recorded of conversation.events()) {
    if (isHole(recorded)) throw new Error(`revision ${recorded.revision} was skipped`);
    events.push(recorded);
  }
  return events;
}

export const typesOf = (events: readonly RecordedEvent[]): readonly string[] => events.map(({ event }) => event.type);

type EventByType = { readonly [Event in ConversationEvent as Event["type"]]: Event };

/** The data of all events of a type. */
export function dataOf<T extends ConversationEvent["type"]>(
  events: readonly RecordedEvent[],
  type: T,
): readonly EventByType[T]["data"][] {
  const isWanted = (event: ConversationEvent): event is EventByType[T] => event.type === type;
  const wanted: readonly EventByType[T][] = events.map(({ event }) => event).filter(isWanted);
  return wanted.map(({ data }) => data);
}

/** What something is rejected with. */
export async function rejectionOf(work: Promise<unknown>): Promise<unknown> {
  try {
    await work;
  } catch (error) {
    return error;
  }
  throw new Error("nothing was thrown");
}
