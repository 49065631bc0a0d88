import { expect, test } from "vitest";
import * as z from "zod";
import { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import { assistant } from "../../../src/domain/make-block.ts";
import { createEngine } from "../../../src/engine/options/create-engine.ts";
import type { Observer } from "../../../src/engine/options/engine.ts";
import { defineMiddleware } from "../../../src/engine/ports/middleware.ts";
import { tool } from "../../../src/engine/ports/tool.ts";
import { type ScriptedAnswer, scripted } from "../../../src/providers/scripted/scripted.ts";
import { createMemoryStore } from "../../../src/stores/memory/store.ts";
import { type Draw, drawFrom } from "../../../src/testing/rehearsal/draw.ts";
import { seeds } from "../../support/cases.ts";
import { eventsOf } from "../../support/workshop.ts";

/** What a drawn model answers. */
function answers(seed: number): ScriptedAnswer[] {
  const draw = drawFrom("observers", seed, "model");
  return Array.from({ length: 30 }, (): ScriptedAnswer => {
    if (draw.chance(0.15)) return { error: { status: draw.pick([429, 500, 400]), message: "not now" } };
    const calls = Array.from({ length: draw.pick([0, 0, 1, 2]) }, () => ({
      ...{ name: "work", arguments: { fails: draw.chance(0.2) } },
    }));
    return { reasoning: draw.nonce(), text: draw.nonce(), calls };
  });
}

const layers = (draw: Draw) => [
  defineMiddleware({ name: "showing", version: "1.0.0" }, (next) => async (turn, ctx) => {
    ctx.emit("step", { frame: ctx.frame, now: ctx.now() });
    return next(turn);
  }),
  defineMiddleware({ name: "chancy", version: "1.0.0" }, (next) => async (turn) => {
    const how = draw.pick(["pass", "pass", "pass", "pass", "answer", "throw"]);
    if (how === "throw") throw new Error("by chance");
    return how === "answer" ? turn.append(assistant(draw.nonce())) : next(turn);
  }),
];

/** A conversation of three runs, as its log has it: without the random ids of events, what covers them, and times that a stopwatch took. */
async function logOf(seed: number, observers: readonly Observer[]): Promise<string> {
  let now = Date.parse("2026-03-01T12:00:00.000Z");
  let ids = 0;
  const id = (): string => {
    ids += 1;
    return String(ids).padStart(16, "0");
  };
  const clock = (): number => {
    now += 1;
    return now;
  };
  const work = tool({
    ...{ name: "work", description: "Works.", inputSchema: z.object({ fails: z.boolean() }), idempotent: true },
    async execute({ fails }, { emit }) {
      emit("progress", fails);
      await Promise.resolve();
      if (fails) throw new Error("it failed");
      return "done";
    },
  });
  await using store = new TurnlogStore(createMemoryStore(), {
    clock,
    encoding: "json",
    newId: (kind) => `${kind}_${id()}`,
  });
  const engine = createEngine({
    ...{
      provider: scripted(answers(seed)),
      tools: [work],
      middleware: layers(drawFrom("observers", seed, "layers")),
      observers,
    },
    ...{ clock, newId: (kind) => `${kind}_${id()}`, sleep: async () => undefined },
  });
  const conversation = store.conversation("cnv_observed");
  for (const message of ["one", "two", "three"]) {
    await conversation.append(message);
    await conversation.run(engine, { observers }).catch(() => undefined);
  }
  const events = await eventsOf(conversation);
  expect(events.length).toBeGreaterThan(9);
  const facts = events.map(({ id: _, digest: __, ...fact }) => fact);
  return JSON.stringify(facts, (name, value: unknown) => (times.has(name) ? null : value));
}

const times: ReadonlySet<string> = new Set(["timings", "durationMs"]);

const watchers: Readonly<Record<string, () => Observer>> = {
  quick: () => ({ next: () => undefined }),
  throwing: () => ({
    next() {
      throw new Error("the observer's");
    },
  }),
  rejecting: () => ({ next: () => Promise.reject(new Error("the observer's, later")) }),
  slow: () => ({ next: () => new Promise((resolve) => setImmediate(resolve)) }),
  "never-answering": () => ({ next: () => new Promise(() => undefined) }),
  changing: () => ({
    next(part) {
      // A part is frozen: an observer that writes to it throws.
      Object.assign(part, { type: "changed" });
    },
  }),
};

test("the log of runs is the same without observers, and with those that throw, lag, never answer, or write to parts", async () => {
  for (const seed of seeds(3, 1_000, 60)) {
    const alone = await logOf(seed, []);
    for (const [name, make] of Object.entries(watchers))
      expect(await logOf(seed, [make()]), `seed ${seed}, ${name}`).toBe(alone);
    expect(
      await logOf(
        seed,
        Object.values(watchers).map((make) => make()),
      ),
      `seed ${seed}, all`,
    ).toBe(alone);
  }
});
