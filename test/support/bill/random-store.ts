import { z } from "zod";
import type { JsonObject } from "../../../src/base/json.ts";
import type { Conversation } from "../../../src/conversation/conversation.ts";
import { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import type { Engine } from "../../../src/engine/options/engine.ts";
import { defineMiddleware } from "../../../src/engine/ports/middleware.ts";
import type { Provider } from "../../../src/engine/ports/provider.ts";
import { ProviderError } from "../../../src/engine/ports/provider-error.ts";
import { tool } from "../../../src/engine/ports/tool.ts";
import { scripted } from "../../../src/providers/scripted/scripted.ts";
import type { ScriptedAnswer } from "../../../src/providers/scripted/scripted-answer.ts";
import { type Draw, drawFrom } from "../../../src/testing/rehearsal/draw.ts";
import { damages } from "../log/damaged-copy.ts";
import { createDamagingStore } from "../log/damaging-store.ts";
import { createWorkshop, eventsOf, type Workshop } from "../workshop.ts";

/** What a provider was asked and reported, as the test knows it: the truth that a bill has to have. */
export type Asked = {
  /** The conversation in which it was asked, and the one that caused it. */
  readonly conversation: string;
  readonly cause: string;
  readonly day: string;
  readonly model: string;
  readonly declared: string;
  readonly uncached: number;
  readonly read: number;
  readonly written: number;
  readonly output: number;
  readonly reasoning: number;
  /** Told money, in millionths of a dollar. */
  readonly paid: number | null;
  readonly outcome: "told" | "untold" | "unbilled" | "contradictory";
};

export type RandomStore = {
  readonly store: TurnlogStore;
  readonly asked: readonly Asked[];
  /** The value of the label `user` by conversation. */
  readonly users: ReadonlyMap<string, string>;
  readonly skipped: number;
  readonly erased: number;
  readonly damaged: number;
  /** How many blocks lost their content in conversations that go on. */
  readonly erasedBlocks: number;
};

/** A store with forks, subagents, layers' own requests, failures, skipped and damaged events and erasures, all drawn from a seed. */
export async function randomStore(seed: number): Promise<RandomStore> {
  const draw = drawFrom("bill", seed);
  const { events, damage } = createDamagingStore();
  const workshop = createWorkshop({ events });
  const asked: Asked[] = [];
  const users = new Map<string, string>();
  const { store } = workshop;
  const server = createServer();
  const talks: Conversation[] = [];
  const parents = new Set<string>();
  // The workshop's own store only watches, and erases nothing.
  const eraser = new TurnlogStore(events, { clock: () => workshop.clock.now });
  const erasing = drawFrom("bill erasures", seed);
  let erasedBlocks = 0;
  for (let turn = 0; turn < 6; turn += 1) {
    workshop.clock.now += draw.below(20) * 3_600_000;
    const known = talks[draw.below(talks.length)];
    if (known !== undefined && draw.chance(0.25)) {
      const fork = await known.fork();
      parents.add(known.id);
      talks.push(fork);
      const user = users.get(known.id);
      if (user !== undefined) users.set(fork.id, user);
    }
    const talk = known !== undefined && draw.chance(0.6) ? known : store.conversation(`cnv_talk-${talks.length}`);
    if (!talks.includes(talk)) {
      talks.push(talk);
      if (draw.chance(0.7)) {
        const user = draw.pick(["ann", "bob"]);
        await talk.relabel({ labels: { user } });
        users.set(talk.id, user);
      }
    }
    if (erasing.chance(0.3)) erasedBlocks += await eraseBlock(erasing, eraser, talk);
    await talk.append(`message ${turn}`);
    const mode = erasing.chance(0.5) ? "stateless" : "chained";
    // Some runs fail, as the provider does.
    await talk.run(engineFor(workshop, { draw, asked, talk, cause: talk.id, server, mode })).catch(() => undefined);
  }
  const spoiled = await spoil(draw, { talks, parents, asked, damage, store: eraser });
  return { store, users, erasedBlocks, ...spoiled };
}

/** Erases what a message of a conversation said; returns how many blocks that were. */
async function eraseBlock(draw: Draw, store: TurnlogStore, talk: Conversation): Promise<number> {
  if ((await talk.head()) === null) return 0;
  const said = (await talk.turn()).blocks.filter(({ kind, isErased }) => kind === "user" && !isErased);
  const block = said[draw.below(said.length)]?.id ?? null;
  if (block === null) return 0;
  const plan = await store.planErasure({ blocks: [{ conversation: talk.id, block }] });
  await store.erase(plan, { by: "dpo", ground: "asked" });
  return 1;
}

/** One server for all, so that later runs may continue from its answers. */
type Server = { next: ScriptedAnswer; readonly answers: Provider };

function createServer(): Server {
  const server: Server = { next: "done", answers: scripted(() => server.next) };
  return server;
}

type Talking = {
  readonly draw: Draw;
  readonly asked: Asked[];
  readonly talk: Conversation;
  readonly cause: string;
  readonly server: Server;
  readonly mode: "stateless" | "chained";
};

/** A layer may ask something of its own, and the model may call a tool that asks a subagent. */
function engineFor(workshop: Workshop, talking: Talking, depth = 0): Engine {
  const { draw, talk } = talking;
  const curious = defineMiddleware({ name: "curious", version: "1.0.0" }, (next) => async (turn, ctx) => {
    if (draw.chance(0.3)) await ctx.infer({ input: "and what is this?" });
    return next(turn);
  });
  const research = tool({
    name: "research",
    description: "Asks a subagent.",
    inputSchema: z.object({}),
    async execute(_, ctx) {
      const child = await talk.child("researcher", ctx);
      await child.append("look it up");
      return (await child.run(engineFor(workshop, { ...talking, talk: child }, depth + 1))).text;
    },
  });
  const provider = providerFor(workshop, talking, depth);
  return workshop.engine({ provider, mode: talking.mode, tools: [research], middleware: [curious] });
}

function providerFor({ clock }: Workshop, { draw, asked, talk, cause, server }: Talking, depth: number): Provider {
  const model = draw.pick(["m-1", "m-2"]);
  const mayCall = depth < 2 && draw.chance(0.4);
  let calls = 0;
  return {
    ...server.answers,
    settings: { model },
    async infer(request) {
      const { usage, told, paid } = drawnUsage(draw);
      const [outcome, failure] = drawnOutcome(draw, usage);
      const served = draw.chance(0.3) ? `${model}-2026` : model;
      const day = new Date(clock.now).toISOString().slice(0, 10);
      const isTold = outcome === "told";
      const none = { uncached: 0, read: 0, written: 0, output: 0, reasoning: 0 };
      const isPaid = paid !== null && (isTold || outcome === "contradictory") && failure === undefined;
      asked.push({
        ...{ conversation: talk.id, cause, day, declared: model, outcome, paid: isPaid ? paid : null },
        // A failed answer does not say which model it was of.
        ...{ model: failure === undefined && outcome !== "untold" ? served : model, ...(isTold ? told : none) },
      });
      if (failure !== undefined) {
        if (isTold) request.onDelta({ type: "usage", usage: neutral, reported: usageWithoutCost(usage) });
        throw failure;
      }
      calls += 1;
      server.next = mayCall && calls === 1 ? { calls: [{ name: "research", arguments: {} }] } : "done";
      const { response } = await server.answers.infer(request);
      const { usage: _, ...others } = response;
      return { response: { ...others, model: served, ...(outcome === "untold" ? {} : { usage }) } };
    },
  };
}

/** Only the report counts; the stream's own four counts go to listeners. */
const neutral = { inputTokens: 0, cachedInputTokens: 0, outputTokens: 0, reasoningTokens: 0 };

const usageWithoutCost = ({ cost: _, cost_details: __, is_byok: ___, ...usage }: JsonObject): JsonObject => usage;

function drawnUsage(draw: Draw) {
  const [uncached, read, written, reasoning] = [
    1 + draw.below(5_000),
    draw.below(3_000),
    draw.below(900),
    draw.below(50),
  ];
  const output = reasoning + draw.below(400);
  const paid = draw.chance(0.2) ? 1 + draw.below(90_000) : null;
  const usage: JsonObject = {
    ...{ input_tokens: uncached + read + written, output_tokens: output },
    input_tokens_details: { cached_tokens: read, cache_write_tokens: written },
    output_tokens_details: { reasoning_tokens: reasoning },
    ...(paid === null ? {} : { cost: paid / 1_000_000, cost_details: {}, is_byok: false }),
  };
  return { usage, told: { uncached, read, written, output, reasoning }, paid };
}

function drawnOutcome(draw: Draw, usage: JsonObject): readonly [Asked["outcome"], ProviderError?] {
  if (draw.chance(0.1)) {
    Reflect.set(usage, "input_tokens", 0);
    Reflect.set(usage, "input_tokens_details", { cached_tokens: 7 });
    return ["contradictory"];
  }
  if (draw.chance(0.08)) return ["untold"];
  if (draw.chance(0.08))
    return ["unbilled", new ProviderError("no", { kind: "invalid-request", outcome: "rejected", status: 400 })];
  const cut = new ProviderError("cut", { kind: "stream-cut", outcome: "unknown" });
  if (draw.chance(0.08)) return ["untold", cut];
  return draw.chance(0.08) ? ["told", cut] : ["told"];
}

type Spoiling = {
  readonly talks: readonly Conversation[];
  readonly parents: ReadonlySet<string>;
  readonly asked: readonly Asked[];
  readonly damage: ReturnType<typeof createDamagingStore>["damage"];
  readonly store: TurnlogStore;
};

/** Damages an answer of one conversation, which an operator may skip, and erases another. */
async function spoil(draw: Draw, { talks, parents, asked, damage, store }: Spoiling) {
  const hasChild = (id: string): boolean =>
    asked.some(({ conversation, cause }) => cause === id && conversation !== id);
  const [victim, gone] = talks.filter(({ id }) => !parents.has(id) && !hasChild(id));
  const spoiled = { skipped: 0, erased: 0, damaged: 0 };
  let left: readonly Asked[] = asked;
  if (victim !== undefined && draw.chance(0.6)) {
    const lost = await answerIn(victim, asked);
    if (lost !== null) {
      damage(`conversation-${victim.id}`, lost.revision, damages["a type that nobody knows"]);
      left = left.map((each) => (each === lost.asked ? unanswered(each) : each));
      spoiled.damaged = 1;
      if (draw.chance(0.5)) {
        await victim.skipEvent(lost.revision, "half written", { allThatFollow: true });
        Object.assign(spoiled, { damaged: 0, skipped: 1 });
      }
    }
  }
  if (gone !== undefined && draw.chance(0.5)) {
    await store.erase(await store.planErasure({ conversations: [gone.id] }), { by: "dpo", ground: "asked" });
    left = left.filter(({ conversation }) => conversation !== gone.id);
    spoiled.erased = 1;
  }
  return { asked: left, ...spoiled };
}

/** The newest answer of a conversation, and what was asked for it: requests are recorded in the order in which they are made. */
async function answerIn(talk: Conversation, asked: readonly Asked[]) {
  const stream = `conversation-${talk.id}`;
  const events = (await eventsOf(talk)).filter((recorded) => recorded.stream === stream);
  const answer = events.findLast(({ event }) => event.type === "ResponseReceived");
  if (answer?.event.type !== "ResponseReceived") return null;
  const { inferenceId } = answer.event.data;
  const requests = events.flatMap(({ event }) => (event.type === "InferenceRequested" ? [event.data.inferenceId] : []));
  const own = asked.filter(({ conversation }) => conversation === talk.id);
  return { revision: answer.revision, asked: own[requests.indexOf(inferenceId)] };
}

const unanswered = (each: Asked): Asked => ({
  ...each,
  ...{ uncached: 0, read: 0, written: 0, output: 0, reasoning: 0, paid: null, outcome: "untold" },
  model: each.declared,
});
