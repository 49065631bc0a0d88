import { setImmediate as turnOfTheLoop } from "node:timers/promises";
import { afterAll, expect, test } from "vitest";
import * as z from "zod";
import type { JsonValue } from "../../src/base/json.ts";
import { user } from "../../src/domain/make-block.ts";
import { createEngine, type EngineConfig } from "../../src/engine/options/create-engine.ts";
import { defineMiddleware, type Layer, type LayerContext } from "../../src/engine/ports/middleware.ts";
import { tool } from "../../src/engine/ports/tool.ts";
import { rebuildRequest } from "../../src/engine/recorded/recorded-request.ts";
import { conversationView } from "../../src/projections/views/conversation-view.ts";
import { codecs } from "../../src/providers/codecs.ts";
import { type ScriptedAnswer, scripted } from "../../src/providers/scripted/scripted.ts";
import { whatIf } from "../../src/replay/counterfactual.ts";
import { firstSeed, isTelling, seeds } from "../support/cases.ts";
import { createRandom, type Random } from "../support/coherence/random.ts";
import { broughtLayer, type Outside } from "../support/run/brought-layer.ts";
import { createWorkshop, type Workshop } from "../support/workshop.ts";

const stacks = seeds(6, 500, 40);
const tally = { stacks: 0, steps: 0, draws: 0, effects: 0, outOfOrder: 0 };

afterAll(() => {
  const { stacks, steps, draws, effects, outOfOrder } = tally;
  console.log(
    `drawn again: ${stacks} stacks, ${steps} steps, ${draws} draws, ${effects} effects (${outOfOrder} that ended before an earlier one)`,
  );
});

test("the README's stamp is the recording itself, and without a layer that does nothing as well", async () => {
  const { conversation, engine, clock } = createWorkshop();
  const stamp = defineMiddleware(
    { name: "stamp", version: "1.0.0" },
    (next) => (turn, ctx) => next(turn.append(user(`It is ${new Date(ctx.now()).toISOString()}.`))),
  );
  const provider = scripted(() => {
    clock.now += 700;
    return "Noon.";
  });
  const made = engine({ provider, middleware: [idle, stamp] });
  for (const question of ["What time is it?", "And now?"]) {
    clock.now += 60_000;
    await conversation.append(question);
    await conversation.run(made);
  }
  for (const without of [null, "idle"]) {
    const { steps, unknown, turn } = await whatIf(conversation, made, { without });
    expect(unknown).toBeNull();
    expect(steps.map(({ isSame }) => isSame)).toEqual([true, true]);
    expect(turn.digest).toBe((await conversation.turn()).digest);
  }
});

test("what several effects at once gave comes in the order in which it came, at its time, failures too", async () => {
  const { conversation, engine, clock } = createWorkshop();
  const heard: string[] = [];
  const racing = defineMiddleware({ name: "racing", version: "1.0.0" }, (next) => async (turn, ctx) => {
    const effects = ["slow", "quick", "broken"].map(async (name, index) => {
      const gave = await ctx
        .effect(name, async () => {
          for (let left = 3 - index; left > 0; left -= 1) await turnOfTheLoop();
          clock.now += 10;
          if (name === "broken") throw new Error("no luck");
          return name;
        })
        .catch((error: unknown) => String(error));
      heard.push(`${gave} at ${ctx.now()}`);
    });
    await Promise.all(effects);
    return next(turn.append(user(heard.splice(0).join(", "))));
  });
  const made = engine({ provider: scripted(["ok"]), middleware: [racing] });
  await conversation.append("hello");
  await conversation.run(made);
  const { steps, unknown, turn } = await whatIf(conversation, made);
  expect(turn.blocks.map(({ text }) => text)).toEqual((await conversation.turn()).blocks.map(({ text }) => text));
  expect({ unknown, same: steps.map(({ isSame }) => isSame) }).toEqual({ unknown: null, same: [true] });
});

test(`${stacks.length} random stacks draw, hear and ask again what they did, as they are and without a layer that does nothing (from seed ${firstSeed})`, {
  timeout: 3_600_000,
}, async () => {
  for (const seed of stacks) {
    const recording = await record(seed);
    const { conversation } = recording.workshop;
    const sent = await bodiesOf(recording.workshop);
    const touched = recording.touched();
    for (const without of [null, "idle"]) {
      const label = `seed ${seed}${without === null ? "" : ", without a layer that does nothing"}`;
      recording.drawn.length = 0;
      const answer = await whatIf(conversation, recording.untouchable(), {
        ...{ without, bodies: true },
      });
      expect(answer.unknown, label).toBeNull();
      expect(recording.drawn, label).toEqual(recording.drawnThen);
      expect(recording.touched(), label).toBe(touched);
      expect(
        answer.steps.map(({ otherwise }) => otherwise?.bodyText),
        label,
      ).toEqual(sent);
      expect(
        answer.steps.every(({ isSame }) => isSame),
        label,
      ).toBe(true);
      expect(answer.turn.digest, label).toBe((await conversation.turn()).digest);
      tally.steps += answer.steps.length;
    }
    tally.stacks += 1;
    tally.draws += recording.drawnThen.length;
  }
  if (isTelling) expect(tally.outOfOrder).toBeGreaterThan(tally.effects / 20);
});

const idle = defineMiddleware({ name: "idle", version: "1.0.0" }, (next) => (turn) => next(turn));

/** A conversation under random layers, on a clock that moves with all that happens; and what they drew. */
async function record(seed: number) {
  const random = createRandom(seed);
  const workshop = createWorkshop();
  const { conversation, clock } = workshop;
  const drawn: JsonValue[] = [];
  const layers: Layer[] = Array.from({ length: 1 + random.below(3) }, (_, n) =>
    drawingLayer(`layer-${n}`, { random, clock, drawn, twice: random.chance(0.3) }),
  );
  layers.splice(random.below(layers.length + 1), 0, idle);
  let touched = 0;
  const touch = (): void => {
    touched += 1;
  };
  let kept = "";
  const outside: Outside = {
    store: {
      get() {
        touch();
        return random.chance(0.3) ? kept : undefined;
      },
      set(_, value) {
        touch();
        kept = value;
      },
    },
    isBad() {
      touch();
      return random.chance(0.2);
    },
  };
  layers.splice(random.below(layers.length + 1), 0, broughtLayer(random, "brought", outside));
  const lookUp = tool({
    name: "look-up",
    description: "Looks up.",
    inputSchema: z.looseObject({}),
    execute: () => passing(random, clock, "found"),
  });
  const meanwhile: Promise<unknown>[] = [];
  const provider = scripted(() => {
    clock.now += random.below(1_000);
    if (random.chance(0.2)) meanwhile.push(conversation.append("said meanwhile"));
    return answerOf(random);
  });
  const config: EngineConfig = { provider, tools: [lookUp], middleware: layers, maxSteps: 6 };
  for (let runs = 1 + random.below(3); runs > 0; runs -= 1) {
    clock.now += random.below(60_000);
    await conversation.append(`said ${runs}`);
    await conversation.run(workshop.engine(config)).catch(() => null);
    await Promise.all(meanwhile.splice(0));
  }
  const fail = (): never => {
    throw new Error("a counterfactual reached outside");
  };
  /** The same stack with nothing of the world at hand. */
  const untouchable = () =>
    createEngine({ ...config, provider: { ...provider, infer: fail }, tools: [{ ...lookUp, run: fail }] });
  return { workshop, drawn, drawnThen: drawn.slice(), untouchable, touched: () => touched };
}

type Drawing = {
  readonly random: Random;
  readonly clock: { now: number };
  readonly drawn: JsonValue[];
  /** Whether it asks again by the chance that the run gives it. */
  readonly twice: boolean;
};

/** A layer that puts what it draws and hears into the Turn, before and after each call. */
function drawingLayer(name: string, { random, clock, drawn, twice }: Drawing): Layer {
  const draw = (ctx: LayerContext, ...more: JsonValue[]): string => {
    const draws = [name, ctx.frame, ctx.now(), ctx.id(), ctx.random(), ...more];
    drawn.push(draws);
    return JSON.stringify(draws);
  };
  const effect = async (ctx: LayerContext, called: string): Promise<void> => {
    const began = tally.effects;
    tally.effects += 1;
    const gave = await ctx
      .effect(called, async () => {
        const value = await passing(random, clock, tally.effects);
        if (began + 1 < tally.effects) tally.outOfOrder += 1;
        if (random.chance(0.2)) throw new Error("no luck");
        return value;
      })
      .catch((error: unknown) => String(error));
    draw(ctx, called, gave);
  };
  return defineMiddleware({ name, version: "1.0.0" }, (next) => async (turn, ctx) => {
    let asked = turn;
    for (let calls = 0; calls < 2; calls += 1) {
      // Two of one name at once, and one that begins when the first has ended.
      if (ctx.random() < 0.5) {
        await Promise.all([
          effect(ctx, "fetch").then(() => effect(ctx, "then")),
          effect(ctx, "fetch"),
          effect(ctx, "look"),
        ]);
      }
      const said = draw(ctx);
      if (ctx.random() < 0.7) asked = asked.append(user(said));
      if (ctx.random() < 0.3) asked = asked.insert(0, user(said).withId(null));
      asked = await next(asked);
      draw(ctx, "came back");
      if (!twice || ctx.random() < 0.5) break;
    }
    return ctx.random() < 0.5 ? asked.append(user(draw(ctx))) : asked;
  });
}

/** Something that takes a while, by the clock and by the event loop. */
async function passing<T>(random: Random, clock: { now: number }, value: T): Promise<T> {
  for (let turns = random.below(4); turns > 0; turns -= 1) {
    await turnOfTheLoop();
    clock.now += random.below(50);
  }
  return value;
}

function answerOf(random: Random): ScriptedAnswer {
  const calls = random.chance(0.5) ? random.below(3) : 0;
  if (calls === 0) return `answer ${random.below(1_000)}`;
  return { calls: Array.from({ length: calls }, (_, n) => ({ name: "look-up", arguments: { n } })) };
}

async function bodiesOf({ conversation }: Workshop): Promise<readonly string[]> {
  const bodies: string[] = [];
  let view = conversationView.initial("");
  for await (const recorded of conversation.history()) {
    view = conversationView.apply(view, recorded);
    if (recorded.event.type === "InferenceRequested") bodies.push(rebuildRequest(view, recorded, codecs).bodyText);
  }
  return bodies;
}
