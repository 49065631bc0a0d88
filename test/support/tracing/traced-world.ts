import { setImmediate } from "node:timers/promises";
import * as z from "zod";
import type { Conversation } from "../../../src/conversation/conversation.ts";
import { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import type { Actor } from "../../../src/domain/actor.ts";
import { user } from "../../../src/domain/make-block.ts";
import { createEngine } from "../../../src/engine/options/create-engine.ts";
import { defineMiddleware } from "../../../src/engine/ports/middleware.ts";
import { externalTool, tool } from "../../../src/engine/ports/tool.ts";
import type { TracingConfig } from "../../../src/engine/tracing/tracing.ts";
import { type ScriptedAnswer, scripted } from "../../../src/providers/scripted/scripted.ts";
import { createMemoryStore } from "../../../src/stores/memory/store.ts";
import { type Draw, drawFrom } from "../../../src/testing/rehearsal/draw.ts";
import { memoryTracer } from "./tracer.ts";

const actions = [
  "run",
  "run",
  "crash",
  "crash",
  "crash",
  "decide",
  "decide",
  "say",
  "deploy",
  "cancel",
  "close",
] as const;

const tools = ["look-up", "repeat", "fail", "refund", "locate", "unknown"] as const;

const described = { description: "x", inputSchema: z.object({}) } as const;
const ann: Actor = { kind: "user", name: "ann" };

/** A process, by what its tracer got. One that died told its tracer nothing more, whatever its last append did. */
type Process = { readonly tracer: ReturnType<typeof memoryTracer>; isDead: boolean };

/** One conversation that processes run, lose and take up, and the spans that their tracers got. */
export class TracedWorld {
  readonly id = "cnv_traced";
  readonly events = createMemoryStore();
  readonly #draw: Draw;
  readonly #seed: number;
  readonly #tracing: Omit<TracingConfig, "api">;
  readonly processes: Process[] = [];
  #now = Date.parse("2026-03-01T12:00:00.000Z");
  #version = 0;
  #messages = 0;
  #cancels = 0;

  constructor(seed: number, tracing: Omit<TracingConfig, "api">) {
    this.#draw = drawFrom("traced", seed);
    this.#seed = seed;
    this.#tracing = tracing;
  }

  async play(count: number): Promise<void> {
    await this.#open().append("hello");
    for (let action = 0; action < count; action += 1) await this.#act(this.#draw.pick(actions));
  }

  readonly #clock = (): number => {
    this.#now += 1;
    return this.#now;
  };

  #openStore(): TurnlogStore {
    // Closing one process's store leaves the log to the others.
    const events = { ...this.events, close: async () => undefined };
    return new TurnlogStore(events, { clock: this.#clock });
  }

  #open(): Conversation {
    return this.#openStore().conversation(this.id);
  }

  async #act(action: (typeof actions)[number]): Promise<void> {
    const conversation = this.#open();
    switch (action) {
      case "run":
        await settled(conversation.run(this.#engine()));
        return;
      case "crash":
        await this.#say(conversation);
        await this.#crash(conversation);
        return;
      case "decide":
        await this.#decide(conversation);
        return;
      case "say":
        await this.#say(conversation);
        return;
      case "deploy":
        this.#version += 1;
        return;
      case "cancel": {
        await this.#say(conversation);
        const caller = new AbortController();
        this.#cancels = this.#draw.below(4);
        await settled(
          conversation.run(
            this.#engine(() => caller.abort(new Error("enough"))),
            { signal: caller.signal },
          ),
        );
        return;
      }
      case "close":
        await this.#close();
        return;
    }
  }

  async #say(conversation: Conversation): Promise<void> {
    this.#messages += 1;
    await conversation.append(`message ${this.#messages}`);
  }

  /** The process dies before or after one of its appends, requests or tools. */
  async #crash(conversation: Conversation): Promise<void> {
    let left = this.#draw.below(14);
    const stepping = conversation.step(this.#engine());
    const ended = settled(stepping.result);
    const process = this.processes.at(-1);
    for await (const _ of stepping) {
      left -= 1;
      if (left < 0) break;
    }
    if (process !== undefined) process.isDead = left < 0;
    await ended;
  }

  /** The store is closed while a run is under way. */
  async #close(): Promise<void> {
    const store = this.#openStore();
    const conversation = store.conversation(this.id);
    await this.#say(conversation);
    const closing = Promise.withResolvers<undefined>();
    this.#cancels = this.#draw.below(3);
    const run = settled(conversation.run(this.#engine(() => closing.resolve(undefined))));
    await Promise.race([closing.promise, run]);
    await settled(store.close({ graceMs: 50 }));
    await run;
  }

  async #decide(conversation: Conversation): Promise<void> {
    const { run } = await (await conversation.at(-1)).load();
    for (const { kind, blockId } of run?.waitingFor ?? []) {
      const isAllowed = this.#draw.chance(0.6);
      if (kind !== "approval")
        await settled(
          conversation.settle(blockId, isAllowed ? { how: "result", output: "settled" } : { how: "rerun" }, ann),
        );
      else if (isAllowed) await settled(conversation.approve(blockId, { actor: ann }));
      else await settled(conversation.deny(blockId, { actor: ann }));
    }
    await settled(conversation.run(this.#engine()));
  }

  /** @param onTool - Called in a tool, after so many tools as the world has drawn. */
  #engine(onTool?: () => void) {
    const version = `${this.#version}.0.0`;
    const execute = async (): Promise<string> => {
      await setImmediate();
      this.#cancels -= 1;
      if (this.#cancels < 0) onTool?.();
      return `found ${this.#now}`;
    };
    const tracer = memoryTracer();
    this.processes.push({ tracer, isDead: false });
    return createEngine({
      provider: scripted(({ context }) => answerTo(drawFrom("model", this.#seed, context.length)), {
        transport: "sse",
        prefix: `v${this.#version}`,
      }),
      tools: [
        tool({ ...described, name: "look-up", execute }),
        tool({ ...described, name: "repeat", execute, idempotent: true }),
        tool({
          ...{ ...described, name: "fail" },
          execute: () => {
            throw new Error("no such thing");
          },
        }),
        tool({ ...described, name: "refund", execute, needsApproval: () => true }),
        externalTool({ ...described, name: "locate" }),
      ],
      middleware: [twice(this.#seed, version), aside(this.#seed)],
      maxSteps: 6,
      clock: this.#clock,
      sleep: async () => undefined,
      tracing: { ...this.#tracing, api: tracer.api },
    });
  }
}

function answerTo(draw: Draw): ScriptedAnswer {
  if (draw.chance(0.1)) return { error: { message: "busy", status: draw.pick([429, 500, 400]) } };
  if (draw.chance(0.05)) return { text: "cut", status: draw.pick(["incomplete", "failed"]) };
  if (draw.chance(0.35)) return { reasoning: "thinking", text: `done ${draw.nonce()}` };
  const count = draw.pick([1, 1, 2, 3]);
  return { calls: Array.from({ length: count }, () => ({ name: draw.pick(tools), arguments: {} })) };
}

/** A layer that asks twice for some Turns, and fails for some. */
const twice = (seed: number, version: string) =>
  defineMiddleware({ name: "twice", version }, (next) => async (turn) => {
    const draw = drawFrom("twice", seed, turn.length);
    if (draw.chance(0.04)) throw new Error("this layer does not want to");
    const result = await next(turn);
    return draw.chance(0.1) ? next(result.append(user("again"))) : result;
  });

/** A layer that asks the model beside the conversation, and has an effect, for some Turns. */
const aside = (seed: number) =>
  defineMiddleware({ name: "aside", version: "1.0.0" }, (next) => async (turn, ctx) => {
    const draw = drawFrom("aside", seed, turn.length);
    if (draw.chance(0.15)) await ctx.infer({ input: turn.append(user("is this safe?")) }).catch(() => null);
    if (draw.chance(0.25)) await ctx.effect("note", () => "noted", { idempotent: true });
    if (draw.chance(0.1)) await ctx.effect("miss", () => Promise.reject(new Error("nothing there"))).catch(() => null);
    return next(turn);
  });

/** What runs are rejected with is not the matter here. */
const settled = (work: Promise<unknown>): Promise<unknown> => work.catch((error: unknown) => error);
