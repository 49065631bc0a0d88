import { setImmediate } from "node:timers/promises";
import * as z from "zod";
import {
  functionCall,
  message,
  type ReferenceServer,
  type ScriptedAnswer,
  type ScriptedItem,
} from "../../../packages/reference-server/src/server.ts";
import type { Conversation } from "../../../src/conversation/conversation.ts";
import { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import type { Actor } from "../../../src/domain/actor.ts";
import { createEngine } from "../../../src/engine/options/create-engine.ts";
import { defineMiddleware } from "../../../src/engine/ports/middleware.ts";
import { externalTool, tool } from "../../../src/engine/ports/tool.ts";
import type { Waiting } from "../../../src/projections/views/waiting.ts";
import { openaiResponses } from "../../../src/providers/responses/openai-responses.ts";
import { createMemoryStore } from "../../../src/stores/memory/store.ts";
import { type Draw, drawFrom } from "../../../src/testing/rehearsal/draw.ts";
import { createRequestJudge, type RequestJudge } from "../../../src/testing/rehearsal/request-judge.ts";

/** Above this, a refund needs approval. */
const limit = 50;

/** How the model's calls are drawn: from what it reads, so a request that is asked again is answered alike. */
export function approvalModel(seed: number) {
  return ({ reading }: { readonly reading: { readonly items: readonly unknown[] } }): ScriptedAnswer => {
    const { items } = reading;
    const draw = drawFrom("model", seed, JSON.stringify(items.length));
    const after = items.length - items.findLastIndex(isMessage);
    if (after > 6 || draw.chance(0.2)) return { output: [message(`Done after ${items.length}.`)] };
    const count = draw.pick([1, 1, 2, 3]);
    return { output: Array.from({ length: count }, (_, n) => callOf(draw, `call_${items.length}_${n}`)) };
  };
}

const isMessage = (item: unknown): boolean =>
  typeof item === "object" && item !== null && "role" in item && item.role === "user";

function callOf(draw: Draw, callId: string): ScriptedItem {
  const name = draw.pick(["refund", "refund", "refund", "look-up", "locate"]);
  const amount = draw.pick([10, 60, 80, 80]);
  const given = name === "refund" ? (draw.chance(0.1) ? '{"amount":"x"}' : `{"amount":${amount}}`) : "{}";
  return functionCall(name, given, { callId });
}

const actions = [
  "run",
  "run",
  "run",
  "crash",
  "crash",
  "crash",
  "decide",
  "decide",
  "decide",
  "say",
  "wait",
  "deploy",
  "two",
] as const;

type Decision = { readonly how: "approve" | "edit" | "deny" | "expire"; readonly input: string | null };

/** One conversation, and what was done about it from outside. What the tools did is kept beside the log. */
export class ApprovalWorld {
  readonly faults: string[] = [];
  readonly decisions = new Map<string, Decision>();
  /** One for all processes, whose runs go one after another. */
  readonly judge: RequestJudge;
  readonly seen = { approved: 0, denied: 0, edited: 0, expired: 0, crashes: 0, deploys: 0, settled: 0, parked: 0 };
  readonly #events = createMemoryStore();
  readonly #draw: Draw;
  readonly #server: ReferenceServer;
  /** Executions of tools: the arguments, by idempotency key. */
  readonly #runs = new Map<string, string[]>();
  #now = Date.parse("2026-03-01T12:00:00.000Z");
  #version = 0;
  #messages = 0;

  constructor(seed: number, server: ReferenceServer) {
    this.#draw = drawFrom("approvals", seed);
    this.#server = server;
    this.judge = createRequestJudge(server);
  }

  get #clock(): () => number {
    return () => {
      this.#now += 1;
      return this.#now;
    };
  }

  /** A process: it shares the log with the others, and nothing else. */
  #open(): Conversation {
    return new TurnlogStore(this.#events, { clock: this.#clock }).conversation("cnv_asked");
  }

  #engine() {
    const passing = defineMiddleware(
      { name: "passing", version: `${this.#version}.0.0` },
      (next) => (turn) => next(turn),
    );
    return createEngine({
      provider: openaiResponses({ model: "m", apiKey: "k", baseURL: this.#server.baseUrl }),
      tools: this.#tools(),
      middleware: [...(this.#version === 0 ? [] : [passing]), this.judge.layer],
      clock: this.#clock,
      sleep: async () => undefined,
    });
  }

  #tools() {
    const run = (name: string, needs: (given: string) => boolean) => async (given: unknown, key: string) => {
      const text = JSON.stringify(given);
      await setImmediate();
      const before = this.#runs.get(key) ?? [];
      if (before.length > 0) this.faults.push(`${name} ${key} ran twice`);
      const decision = this.decisions.get(key);
      const allowed = decision?.how === "approve" || decision?.how === "edit";
      if ((needs(text) || decision !== undefined) && !allowed) this.faults.push(`${name} ${key} ran without approval`);
      if (decision?.input != null && decision.input !== text) this.faults.push(`${name} ${key} ran with ${text}`);
      this.#runs.set(key, [...before, text]);
      return `${name} of ${text}`;
    };
    const needsApproval = ({ amount }: { readonly amount: number }) =>
      amount <= limit ? false : { reason: "over the limit", ...(amount === 80 ? { expiresInMs: 60_000 } : {}) };
    const refund = run("refund", (given) => Number(/\d+/.exec(given)?.[0]) > limit);
    const lookUp = run("look-up", () => false);
    const described = { description: "x" } as const;
    return [
      tool({
        ...{ name: "refund", ...described, inputSchema: z.object({ amount: z.number() }), needsApproval },
        execute: (given, { idempotencyKey }) => refund(given, idempotencyKey),
      }),
      tool({
        ...{ name: "look-up", ...described, inputSchema: z.object({}) },
        execute: (given, { idempotencyKey }) => lookUp(given, idempotencyKey),
      }),
      externalTool({ name: "locate", ...described, inputSchema: z.object({}) }),
    ];
  }

  /** The conversation begins with a message, and mostly with a run. */
  async begin(): Promise<void> {
    await this.#say(this.#open());
    if (this.#draw.chance(0.7)) await this.#run(this.#open());
  }

  /** One thing that somebody does, drawn. */
  async act(): Promise<void> {
    const conversation = this.#open();
    const kind = this.#draw.pick(actions);
    switch (kind) {
      case "run":
        await this.#run(conversation);
        return;
      case "two":
        await Promise.all([this.#run(conversation), this.#run(this.#open()), this.#decideOne(this.#open())]);
        return;
      case "crash":
        await this.#crash(conversation);
        return;
      case "decide":
        await this.#decideOne(conversation);
        return;
      case "say":
        await this.#say(conversation);
        return;
      case "wait":
        this.#now += this.#draw.pick([1_000, 61_000, 61_000]);
        return;
      case "deploy":
        this.seen.deploys += 1;
        this.#version = (this.#version + 1) % 3;
        return;
    }
  }

  async #say(conversation: Conversation): Promise<void> {
    this.#messages += 1;
    const key = `m${this.#messages}`;
    for (let delivery = this.#draw.pick([1, 1, 2]); delivery > 0; delivery -= 1)
      await conversation.append(`message ${this.#messages}`, { key });
  }

  async #run(conversation: Conversation): Promise<void> {
    const onMessageWhileWaiting = this.#draw.pick(["wait", "wait", "wait", "deny"] as const);
    try {
      const { status } = await conversation.run(this.#engine(), { onMessageWhileWaiting });
      if (status === "parked") this.seen.parked += 1;
    } catch (error) {
      if (!isCode(error, "empty-conversation")) throw error;
    }
  }

  /** The process dies before or after one of its appends, requests or tools. */
  async #crash(conversation: Conversation): Promise<void> {
    if (this.#draw.chance(0.6)) await this.#say(conversation);
    let left = this.#draw.pick([0, 1, 2, 3, 4, 6, 8, 10, 12]);
    const stepping = conversation.step(this.#engine());
    const ended = stepping.result.catch((error: unknown) => error);
    let hasDied = false;
    for await (const { kind } of stepping) {
      left -= kind === "append" ? 1 : 2;
      hasDied = left < 0;
      if (hasDied) break;
    }
    const outcome = await ended;
    if (hasDied) this.seen.crashes += 1;
    else if (outcome instanceof Error && !isCode(outcome, "empty-conversation")) throw outcome;
  }

  async #waiting(conversation: Conversation): Promise<readonly Waiting[]> {
    try {
      return (await (await conversation.at(-1)).load()).run?.waitingFor ?? [];
    } catch (error) {
      if (isCode(error, "not-found") || isCode(error, "revision-not-found")) return [];
      throw error;
    }
  }

  /** Decides about something that waits, or repeats or contradicts an earlier decision. */
  async #decideOne(conversation: Conversation): Promise<void> {
    const waiting = await this.#waiting(conversation);
    const [first, ...others] = waiting;
    if (first !== undefined && this.#draw.chance(0.8)) {
      await this.#decide(conversation, this.#draw.pick([first, ...others]));
      return;
    }
    const [known] = this.decisions;
    if (known === undefined) return;
    const [call, { how, input }] = known;
    const other = this.#draw.chance(0.5);
    const isDenial = (how === "deny" || how === "expire") !== other;
    const said = { actor: ann, ...(input === null || isDenial ? {} : { input: JSON.parse(input) as unknown }) };
    const again = isDenial ? conversation.deny(call, { actor: ann }) : conversation.approve(call, said);
    const outcome = await again.catch((error: unknown) => error);
    const isRefused = ["approval-decided", "not-waiting", "approval-expired"].some((code) => isCode(outcome, code));
    if (!isRefused && JSON.stringify(outcome) !== '{"isNew":false}')
      this.faults.push(`a later decision about ${call} was taken: ${JSON.stringify(outcome)}`);
  }

  async #decide(conversation: Conversation, { kind, blockId, input }: Waiting): Promise<void> {
    if (kind !== "approval") {
      this.seen.settled += 1;
      const settled = conversation.settle(blockId, { how: "result", output: `settled ${blockId}` }, ann);
      await settled.catch((error: unknown) => {
        if (!isCode(error, "not-in-doubt")) throw error;
      });
      return;
    }
    const how = this.#draw.pick(["approve", "approve", "edit", "deny"] as const);
    const edited = { amount: 55 };
    const before = this.decisions.get(blockId);
    // Before it is durable, because the run may go on at once.
    if (before === undefined)
      this.decisions.set(blockId, {
        how,
        input: how === "deny" ? null : JSON.stringify(how === "edit" ? edited : input),
      });
    const options = { actor: ann, ...(how === "edit" ? { input: edited } : {}) };
    const decided =
      how === "deny" ? conversation.deny(blockId, { actor: ann }) : conversation.approve(blockId, options);
    const outcome = await decided.catch((error: unknown) => error);
    if (!(outcome instanceof Error)) {
      this.seen[how === "approve" ? "approved" : how === "edit" ? "edited" : "denied"] += 1;
      return;
    }
    if (isCode(outcome, "approval-expired") || isCode(outcome, "not-waiting") || isCode(outcome, "approval-decided")) {
      if (before === undefined) this.decisions.set(blockId, { how: "expire", input: null });
      return;
    }
    throw outcome;
  }

  /** Decides everything, until nothing waits and every message is answered. */
  async finish(): Promise<void> {
    await this.#say(this.#open());
    for (let round = 0; round < 60; round += 1) {
      const conversation = this.#open();
      const { status } = await conversation.run(this.#engine());
      if (status !== "parked") return;
      if (this.#draw.chance(0.4)) this.#now += 61_000;
      for (const waiting of await this.#waiting(conversation)) await this.#decide(conversation, waiting);
    }
    this.faults.push("the conversation did not come to its end");
  }

  /** What the log and the Turn say in the end, compared with what people decided and what tools did. */
  async check(): Promise<void> {
    const conversation = this.#open();
    const texts = new Map<string, string>();
    const said = new Map<string, { how: string; actor: Actor }>();
    for await (const { event, actor } of conversation.history()) {
      if (event.type === "ApprovalDecided") said.set(event.data.blockId, { how: event.data.how, actor });
      if (event.type === "ToolFinished" && event.data.late !== true)
        texts.set(event.data.blockId, JSON.stringify(event.data.result.payload["output"]));
    }
    const { blocks } = await conversation.turn();
    const read = new Set(blocks.map(({ text }) => JSON.stringify(text)));
    for (const [call, { how, actor }] of said) {
      const text = texts.get(call);
      if (text === undefined || !read.has(text)) {
        this.faults.push(`the model does not read what became of ${call} (${how})`);
        continue;
      }
      const ran = this.#runs.get(call) ?? [];
      const isApproved = how === "approve" || how === "edit";
      if (how === "expire") this.seen.expired += 1;
      if (isApproved && actor.kind !== "user") this.faults.push(`${call} was approved by ${actor.kind}`);
      if (!isApproved && !/^"(denied|not approved)/.test(text))
        this.faults.push(`${call} was ${how}, but reads ${text}`);
      if (!isApproved && ran.length > 0) this.faults.push(`${call} ran although it was denied`);
      const isSettled = text.includes("settled ") || text.includes("in doubt");
      if (isApproved && ran.length !== 1 && !isSettled) this.faults.push(`${call} was approved and forgotten: ${text}`);
      if (how === "edit" && !isSettled && !text.includes("approved this call with other arguments"))
        this.faults.push(`${call} was edited, but reads ${text}`);
    }
    this.faults.push(...this.judge.incoherences);
  }
}

const ann: Actor = { kind: "user", name: "ann" };

const isCode = (error: unknown, code: string): boolean =>
  error instanceof Error && "code" in error && error.code === code;
