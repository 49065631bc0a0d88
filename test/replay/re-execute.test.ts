import { expect, test } from "vitest";
import * as z from "zod";
import { assistant, user } from "../../src/domain/make-block.ts";
import { createEngine, type EngineConfig } from "../../src/engine/options/create-engine.ts";
import type { Engine } from "../../src/engine/options/engine.ts";
import { defineMiddleware, type Layer, type LayerHandler, type Next } from "../../src/engine/ports/middleware.ts";
import { tool } from "../../src/engine/ports/tool.ts";
import { verifyStore } from "../../src/operations/audit/verify.ts";
import { scripted } from "../../src/providers/scripted/scripted.ts";
import { reexecute } from "../../src/replay/re-execute.ts";
import { firstSeed, seeds } from "../support/cases.ts";
import { createRandom } from "../support/coherence/random.ts";
import {
  breaksOff,
  engineConfig,
  goodMorning,
  type Ledger,
  mcpLedgerTools,
  unasked,
} from "../support/faults/recovery-world.ts";
import { byThinking, type Thinking, thinkingOn } from "../support/faults/thinking-providers.ts";
import { untilAborted } from "../support/gates.ts";
import { guarded, guardOutside } from "../support/outside-guard.ts";
import { replayed } from "../support/replayed.ts";
import { broughtLayer, type Outside } from "../support/run/brought-layer.ts";
import { createWorkshop, eventsOf, type Workshop } from "../support/workshop.ts";

const stacks = seeds(4, 2_000, 25);

const again = ({ conversation }: Workshop, engine: Engine, options: { readonly to?: number } = {}) =>
  reexecute(conversation, engine, options);

const layer = (name: string, handle: (next: Next) => LayerHandler): Layer =>
  defineMiddleware({ name, version: "1.0.0" }, handle);

test.each(byThinking(stacks))(
  `goes again through runs of random stacks, answered by the log alone: %s (from seed ${firstSeed})`,
  {
    timeout: 600_000,
  },
  async (name, stacks) => {
    using guard = guardOutside();
    for (const seed of stacks) {
      const { codecs } = thinkingOn(name, seed);
      const workshop = createWorkshop({ codecs });
      const { conversation, store } = workshop;
      const ledger: Ledger = new Map();
      const mcp = name === "guarded" ? { tools: await mcpLedgerTools(ledger) } : {};
      const outside = keptOutside(ledger);
      const config = (thinking: Thinking) => {
        const made = engineConfig(seed, ledger, { ...thinking, ...mcp });
        return { ...made, middleware: withBrought(made.middleware ?? [], { seed, outside }) };
      };
      // Every time that anybody looks at the clock it is another.
      const clock = (): number => {
        workshop.clock.now += 1;
        return workshop.clock.now;
      };
      for (const text of [...(breaksOff(seed) ? [goodMorning] : []), "hello", "and then?"]) {
        await conversation.append(text);
        const engine = workshop.engine({ ...config(thinkingOn(name, seed)), clock });
        await conversation.run(engine).catch(() => undefined);
      }
      const done = structuredClone(ledger);
      const before = (await eventsOf(conversation)).length;
      const thinking = thinkingOn(name, seed);
      const { runs, difference } = await again(workshop, guarded(createEngine(unasked(config(thinking)))));
      expect({ seed, runs, difference }).toEqual({ seed, runs: breaksOff(seed) ? 3 : 2, difference: null });
      expect({ seed, folds: (await replayed(store, conversation)).difference }).toEqual({ seed, folds: null });
      for await (const { stream, problem } of verifyStore(store.events, { codecs: store.codecs }))
        expect({ seed, stream, problem }).toEqual({ seed, stream, problem: null });
      expect([thinking.requests.flat().length, (await eventsOf(conversation)).length]).toEqual([0, before]);
      expect({ seed, ledger }).toEqual({ seed, ledger: done });
    }
    expect(guard.touched).toEqual([]);
  },
);

/** A cache's store and a check, in the ledger of what was done in the world. The store has something else each time. */
function keptOutside(ledger: Ledger): Outside {
  const touch = (name: string): number => {
    const entry = ledger.get(name) ?? { name, times: 0, answer: "" };
    entry.times += 1;
    ledger.set(name, entry);
    return entry.times;
  };
  let kept = "";
  return {
    store: {
      get: () => (touch("get") % 4 === 3 ? kept : undefined),
      set(_, value) {
        touch("set");
        kept = value;
      },
    },
    isBad: (text) => touch("check") % 5 === 1 && text.length > 1,
  };
}

/** Layers of turnlog/layers outside of the others and within them. */
function withBrought(
  layers: readonly Layer[],
  { seed, outside }: { readonly seed: number; readonly outside: Outside },
): readonly Layer[] {
  const random = createRandom(seed);
  return [broughtLayer(random, "outer", outside), ...layers, broughtLayer(random, "inner", outside)];
}

test("an acknowledgement that never came due is no difference", async () => {
  const workshop = createWorkshop();
  const cache = defineMiddleware({ name: "cache", version: "1.0.0" }, () => (turn, ctx) => {
    ctx.onAcknowledged(() => undefined);
    return Promise.resolve(turn.append(assistant("From the cache.")));
  });
  const { engine } = workshop.scripted([], { middleware: [cache] });
  await workshop.conversation.append("hello");
  await workshop.conversation.run(engine);
  expect(await again(workshop, engine)).toMatchObject({ runs: 1, difference: null });
});

const lookUp = tool({
  name: "look-up",
  description: "Looks up.",
  inputSchema: z.object({}),
  execute: () => "found",
});

const script = () => scripted([{ calls: [{ name: "look-up", arguments: "{}" }] }, "It is found."]);

const idle = layer("idle", (next) => (turn) => next(turn));

/** A conversation with one run of these layers; `replay` goes through it with others. */
async function played(middleware: readonly Layer[], config: Partial<EngineConfig> = {}) {
  const workshop = createWorkshop();
  const engine = (layers: readonly Layer[], other: Partial<EngineConfig> = {}): Engine =>
    createEngine({
      ...{ provider: script(), tools: [lookUp], middleware: layers, sleep: async () => undefined },
      ...config,
      ...other,
    });
  await workshop.conversation.append("Find it.");
  await workshop.conversation.run(engine(middleware));
  const replay = (layers: readonly Layer[], other: Partial<EngineConfig> = {}) =>
    again(workshop, engine(layers, other));
  return { workshop, replay };
}

/** Layers that do something else each time, each in its own way, and where that shows. */
let count = 0;
const unsteady: readonly (readonly [string, (next: Next) => LayerHandler, object])[] = [
  [
    "what it passes on by the clock",
    (next) => (turn) => next(turn.append(user(`It is ${performance.now()}.`))),
    { frame: "0.0.0.0", field: "after" },
  ],
  [
    "what it passes on by chance",
    (next) => (turn) => next(turn.append(user(`Chance says ${Math.random()}.`))),
    { frame: "0.0.0.0", field: "after" },
  ],
  [
    "what it gives back by the clock",
    (next) => async (turn) => (await next(turn)).append(user(`It is ${performance.now()}.`)),
    { frame: "0.0.0", field: "after" },
  ],
  [
    "its instructions by chance",
    (next) => (turn, ctx) => {
      ctx.instructions(`Chance says ${Math.random()}.`);
      return next(turn);
    },
    { frame: "0.0.0.0", field: "instructions" },
  ],
  [
    "how often it asks",
    (next) => async (turn) => {
      count += 1;
      const result = await next(turn);
      return count === 3 ? next(result) : result;
    },
    { frame: "0.0.0.1", field: "after" },
  ],
  [
    "whether it asks once more at the end",
    (next) => async (turn) => {
      count += 1;
      const result = await next(turn);
      return count === 4 ? next(turn) : result;
    },
    { frame: "0.1.0.1", field: "answer" },
  ],
  [
    "what it gives back at the end",
    (next) => async (turn) => {
      count += 1;
      const result = await next(turn);
      return count === 4 ? result.append(user("Over.")) : result;
    },
    { frame: "0.1.0", field: "after" },
  ],
  [
    "whether it edits at all",
    (next) => (turn) => {
      count += 1;
      return next(count === 3 ? turn.append(user("Again!")) : turn);
    },
    { frame: "0.0.0.0", field: "after" },
  ],
];

test.each(unsteady)("names the layer that changes %s, and its frame", async (_, handle, place) => {
  count = 0;
  // The run makes two steps: the third and the fourth pass are the replay's.
  const layers = [layer("steady", (next) => (turn) => next(turn)), layer("unsteady", handle)];
  const { replay } = await played(layers);
  const { difference } = await replay(layers);
  expect(difference).toMatchObject({ layer: "unsteady", ...place });
  expect(difference?.message).not.toBe("");
});

test("throws at a layer that uses a clock, randomness, a timer or the network", async () => {
  const reaching = [
    () => Date.now(),
    () => new Date(),
    () => Math.random(),
    () => setTimeout(() => undefined, 0),
    () => fetch("http://127.0.0.1:9/"),
  ];
  const named = ["Date.now", "new Date", "Math.random", "setTimeout", "fetch"];
  for (const [index, reach] of reaching.entries()) {
    const { workshop } = await played([idle]);
    using guard = guardOutside();
    const restless = layer("idle", (next) => async (turn) => {
      await reach();
      return next(turn);
    });
    const engine = createEngine({ provider: script(), tools: [lookUp], middleware: [restless] });
    const { difference } = await again(workshop, guarded(engine));
    expect(guard.touched).toEqual([`idle: ${named[index]}`]);
    expect(difference).not.toBeNull();
  }
});

test("tells settings, stacks and tools that are not those of the run, before anything is executed", async () => {
  const { replay, workshop } = await played([idle]);
  const told = scripted(["Hello."], { settings: { model: "another" } });
  expect((await replay([idle], { provider: told })).difference).toMatchObject({ field: "settingsDigest", layer: null });
  const more = layer("more", (next) => (turn) => next(turn));
  await expect(replay([idle, more])).rejects.toThrow(
    /cannot be replayed: its stack did not have more@1; give the stack/,
  );
  await expect(replay([idle], { tools: [{ ...lookUp, name: "other" }] })).rejects.toThrow(
    /called look-up.*add the tool/,
  );
  await expect(again(workshop, createEngine({ provider: script() }), { to: 99 })).rejects.toMatchObject({
    code: "revision-not-found",
  });
});

test("gives layers the recorded times, whenever the work that waited for an answer was done", async () => {
  const workshop = createWorkshop();
  const { conversation, clock } = workshop;
  const waiting = layer("waiting", (next) => async (turn, ctx) => {
    ctx.onAcknowledged(() => {
      clock.now += 60_000;
    });
    const result = await next(turn);
    return next(result.append(user("Sure?")));
  });
  const stamping = layer("stamping", (next) => (turn, ctx) => next(turn.append(user(`It is ${ctx.now()}.`))));
  await conversation.append("Find it.");
  const engine = workshop.engine({ provider: scripted(["Yes.", "Yes!"]), middleware: [waiting, stamping] });
  await conversation.run(engine);
  expect((await eventsOf(conversation)).map(({ event }) => event.type)).toContain("EffectFinished");
  expect((await again(workshop, engine)).difference).toBeNull();
});

test("goes as far as the log of a run that was cut off or cancelled, and finds nothing wrong with it", async () => {
  const workshop = createWorkshop();
  const end = new AbortController();
  const cancel = (): string => {
    end.abort(new Error("enough"));
    return "cancelled";
  };
  const cancelling = tool({ ...lookUpParts, execute: () => cancel() });
  const { conversation } = workshop;
  await conversation.append("Find it.");
  const engine = createEngine({ provider: script(), tools: [cancelling], middleware: [idle] });
  await expect(conversation.run(engine, { signal: end.signal })).rejects.toMatchObject({ code: "run-cancelled" });
  const { length } = await eventsOf(conversation);
  for (let to = 0; to < length; to += 1) {
    expect((await again(workshop, engine, { to })).difference).toBeNull();
    expect((await replayed(workshop.store, conversation, { to })).difference).toBeNull();
  }
});

test("performs nothing that had begun when its run ended, although it may be repeated", async () => {
  const workshop = createWorkshop();
  const { conversation } = workshop;
  const end = new AbortController();
  const done: string[] = [];
  const repeatable = tool({
    ...{ ...lookUpParts, idempotent: true },
    async execute() {
      done.push("tool");
      end.abort(new Error("enough"));
      return "found";
    },
  });
  const racing = layer("racing", (next) => async (turn, ctx) => {
    if (turn.at(-1)?.text !== "Break.") return next(turn);
    const begun = Promise.withResolvers<undefined>();
    const slow = ctx.effect(
      "slow",
      async ({ signal }) => {
        done.push("slow");
        begun.resolve(undefined);
        return untilAborted(signal);
      },
      { idempotent: true },
    );
    const failing = ctx.effect("failing", async () => {
      await begun.promise;
      throw new Error("enough");
    });
    await Promise.all([slow, failing]);
    return next(turn);
  });
  const engine = createEngine({ provider: script(), tools: [repeatable], middleware: [racing] });
  await conversation.append("Find it.");
  await expect(conversation.run(engine, { signal: end.signal })).rejects.toMatchObject({ code: "run-cancelled" });
  await conversation.append("Break.");
  await expect(conversation.run(engine)).rejects.toMatchObject({ code: "run-failed" });
  expect(done).toEqual(["tool", "slow"]);
  expect(await again(workshop, engine)).toMatchObject({ runs: 2, difference: null });
  expect(done).toEqual(["tool", "slow"]);
});

const lookUpParts = { name: "look-up", description: "Looks up.", inputSchema: z.object({}) };
