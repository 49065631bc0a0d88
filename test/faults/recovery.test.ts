import { expect, test } from "vitest";
import { TurnlogStore } from "../../src/conversation/turnlog-store.ts";
import { createEngine, type EngineConfig } from "../../src/engine/options/create-engine.ts";
import type { RunResult } from "../../src/engine/options/result.ts";
import type { Tool } from "../../src/engine/ports/tool.ts";
import { interceptedBy } from "../../src/engine/run/run-options.ts";
import type { Interceptor } from "../../src/engine/session/breakpoint.ts";
import type { EventStore } from "../../src/log/ports/event-store.ts";
import { reexecute } from "../../src/replay/re-execute.ts";
import { createMemoryStore } from "../../src/stores/memory/store.ts";
import { firstSeed, isLong, isRound, isTelling, seeds } from "../support/cases.ts";
import { kindOfStop } from "../support/faults/kind-of-stop.ts";
import {
  breaksOff,
  engineConfig,
  goodMorning,
  type Ledger,
  mcpLedgerTools,
  unasked,
} from "../support/faults/recovery-world.ts";
import { byThinking, type Thinking, type ThinkingName, thinkingOn } from "../support/faults/thinking-providers.ts";
import { replayed } from "../support/replayed.ts";
import { problemsIn } from "../support/verified.ts";
import { dataOf, eventsOf } from "../support/workshop.ts";

const stacks = seeds(1, 2_000, 5);

/** The process is gone: nothing that comes after it happens. */
class Crash extends Error {}

/** Lets so many stops of a run pass, and ends its process at the next one; tells the kinds of all it saw. */
function crashAt(stop: number): { readonly gate: Interceptor; readonly seen: readonly string[] } {
  const seen: string[] = [];
  return {
    seen,
    async gate(reached) {
      if (seen.length >= stop) throw new Crash(`the process died at stop ${stop}`);
      seen.push(kindOfStop(reached));
      return null;
    },
  };
}

type World = {
  readonly seed: number;
  readonly events: EventStore;
  readonly ledger: Ledger;
  readonly thinking: Thinking;
  /** Tools of an MCP server, if the engine has such. */
  readonly tools: readonly Tool[] | undefined;
  ids: number;
  /** Of the run that begins next. */
  runId: string;
};

async function createWorld(seed: number, name: ThinkingName): Promise<World> {
  const ledger: Ledger = new Map();
  const tools = name === "guarded" ? await mcpLedgerTools(ledger) : undefined;
  return {
    ...{ seed, events: createMemoryStore(), ledger, thinking: thinkingOn(name, seed), ids: 0, runId: run, tools },
  };
}

const [runBefore, run] = ["run_0000000000000000", "run_0000000000000001"];

/** A message that waits for an answer, in some conversations behind a run that broke off. */
async function begin(world: World): Promise<void> {
  const { conversation, engine } = processOf(world);
  if (breaksOff(world.seed)) {
    world.runId = runBefore;
    await conversation.append(goodMorning);
    await outcomeOf(conversation.run(engine));
    world.runId = run;
  }
  await conversation.append("hello");
}

/** A process that begins: its own store object, engine and memory, on the log, the model and the ledger that there are. */
function processOf(world: World) {
  const noon = Date.parse("2026-03-01T12:00:00.000Z");
  const store = new TurnlogStore(world.events, {
    ...{ clock: () => noon, pause: async () => undefined, codecs: world.thinking.codecs },
  });
  const { ledger, seed, thinking, tools } = world;
  const config: EngineConfig = {
    ...engineConfig(seed, ledger, { ...thinking, ...(tools === undefined ? {} : { tools }) }),
    clock: () => noon,
    newId: (prefix) => {
      world.ids += 1;
      return prefix === "run" ? world.runId : `inf_${String(world.ids).padStart(16, "0")}`;
    },
  };
  return {
    ...{ store, conversation: store.conversation("cnv_crashed"), engine: createEngine(config) },
    onlyReading: createEngine(unasked(config)),
  };
}

type Outcome = { readonly result: RunResult | null; readonly error: unknown };

async function outcomeOf(work: Promise<RunResult | null>): Promise<Outcome> {
  try {
    return { result: await work, error: null };
  } catch (error) {
    return { result: null, error };
  }
}

const isCrash = ({ error }: Outcome): boolean => error instanceof Crash;

const hasBegun = async ({ conversation }: ReturnType<typeof processOf>): Promise<boolean> =>
  (await eventsOf(conversation)).some(({ event, runId }) => event.type === "RunStarted" && runId === run);

/** Runs until the run has ended, settling from the ledger what is in doubt. */
async function finish(world: World, gateOf: () => Interceptor): Promise<void> {
  for (let attempts = 0; attempts < 40; attempts += 1) {
    const process = processOf(world);
    const { conversation, engine } = process;
    const how = interceptedBy(gateOf(), {});
    const outcome = await outcomeOf(
      (await hasBegun(process)) ? conversation.resume(engine, how) : conversation.run(engine, how),
    );
    if (isCrash(outcome)) continue;
    if (outcome.result?.status !== "parked") return;
    for (const { blockId } of outcome.result.waitingFor) {
      const done = world.ledger.get(blockId);
      await conversation.settle(
        blockId,
        done === undefined ? { how: "rerun" } : { how: "result", output: done.answer },
      );
    }
  }
  throw new Error("the run does not end");
}

/** What a run without a crash comes to, and the kinds of its stops. */
async function uninterrupted(seed: number, name: ThinkingName) {
  const world = await createWorld(seed, name);
  await begin(world);
  const { conversation, engine } = processOf(world);
  const { gate, seen } = crashAt(Number.POSITIVE_INFINITY);
  await outcomeOf(conversation.run(engine, interceptedBy(gate, {})));
  const events = await eventsOf(conversation);
  return {
    stops: seen,
    says: world.thinking.essence(await conversation.turn()),
    end: events.at(-1)?.event.type,
    ledger: world.ledger,
  };
}

const never: Interceptor = async () => null;

/** All stops of a run; where there is little time, those of a kind that was not met before, and in a round some of the others. */
function chosen(stops: readonly string[], seed: number, met: Set<string>): readonly number[] {
  return [...stops.entries()].flatMap(([stop, kind]) => {
    const isNew = !met.has(kind);
    met.add(kind);
    return isLong || isNew || (isRound && (stop + seed) % 5 === 0) ? [stop] : [];
  });
}

/** Where there is the least time: one that chains, one with sessions, and several of which most send everything. */
const few: ReadonlySet<ThinkingName> = new Set(["responses", "claude-cli", "routed"]);
const played = byThinking(stacks).filter(([name]) => isLong || isRound || few.has(name));

test.each(played)(
  `a run killed at any stop, and its recovery killed too, ends as if nothing had happened: %s (from seed ${firstSeed})`,
  {
    timeout: 3_600_000,
  },
  async (name, stacks) => {
    let killed = 0;
    let parked = 0;
    let refused = 0;
    const met = new Set<string>();
    for (const seed of stacks) {
      const expected = await uninterrupted(seed, name);
      for (const [index, stop] of chosen(expected.stops, seed, met).entries()) {
        const world = await createWorld(seed, name);
        await begin(world);
        const first = processOf(world);
        const outcome = await outcomeOf(first.conversation.run(first.engine, interceptedBy(crashAt(stop).gate, {})));
        // Work that nobody waits for may end after the run has: then there is nothing to take up.
        killed += isCrash(outcome) ? 1 : 0;
        if (stop % 3 === 2) await processOf(world).conversation.append("are you there?", { key: "later" });
        // Every other recovery dies as well, a little later each time.
        let stopsToLive = 1;
        await finish(world, () => {
          stopsToLive += 2;
          return stop % 2 === 0 ? crashAt(stopsToLive).gate : never;
        });
        const { store, conversation, engine, onlyReading } = processOf(world);
        const events = await eventsOf(conversation);
        const told = `seed ${seed}, stop ${stop}`;
        refused += dataOf(events, "InferenceFailed").filter(({ retryInMs }) => retryInMs !== undefined).length;
        parked += events.some(({ event }) => event.type === "RunParked") ? 1 : 0;
        const committed = await conversation.turn();
        const later = committed.blocks.findIndex(({ text }) => text === "are you there?");
        const answered = committed.filter(({ text }) => text !== "are you there?");
        expect({ told, says: world.thinking.essence(answered) }).toEqual({ told, says: expected.says });
        const end = events.findLast(({ event }) => event.type.startsWith("Run") && event.type !== "RunStarted");
        expect({ told, end: end?.event.type }).toEqual({ told, end: expected.end });
        expect({ told, asked: stop % 3 === 2 }).toEqual({ told, asked: later >= 0 });
        for (const [key, { name, times }] of world.ledger) {
          if (name === "charge" || name === "post") expect({ told, key, times }).toEqual({ told, key, times: 1 });
        }
        const { difference } = await replayed(store, conversation);
        expect({ told, difference }).toEqual({ told, difference: null });
        if (isLong || index % 9 === 1)
          expect({ told, problems: await problemsIn(store) }).toEqual({ told, problems: [] });
        const layers = await reexecute(conversation, onlyReading);
        expect({ told, difference: layers.difference }).toEqual({ told, difference: null });
        expect(await conversation.resume(engine)).toBeNull();
        expect((await eventsOf(conversation)).length).toBe(events.length);
      }
    }
    process.stdout.write(
      `recovery, ${name}: ${killed} runs killed, ${parked} of them parked for a call in doubt, ${refused} requests sent again\n`,
    );
    if (!isTelling) return;
    expect(killed).toBeGreaterThan(stacks.length * 5);
    expect(parked).toBeGreaterThan(0);
    // How often a model is busy differs from stack to stack.
    if (stacks.length > 1) expect(refused).toBeGreaterThan(killed);
  },
);
