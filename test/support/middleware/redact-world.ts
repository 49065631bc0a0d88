import * as z from "zod";
import {
  functionCall,
  message,
  type ReferenceServer,
  reasoning,
  type ScriptedAnswer,
  startReferenceServer,
} from "../../../packages/reference-server/src/server.ts";
import type { Conversation } from "../../../src/conversation/conversation.ts";
import { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import { user } from "../../../src/domain/make-block.ts";
import { createEngine } from "../../../src/engine/options/create-engine.ts";
import { defineMiddleware, type Layer } from "../../../src/engine/ports/middleware.ts";
import { tool } from "../../../src/engine/ports/tool.ts";
import { reexecute } from "../../../src/entries/replay.ts";
import { openaiResponses } from "../../../src/providers/responses/openai-responses.ts";
import { createMemoryStore } from "../../../src/stores/memory/store.ts";
import { type Draw, drawFrom } from "../../../src/testing/rehearsal/draw.ts";
import { createRequestJudge } from "../../../src/testing/rehearsal/request-judge.ts";

/** Every secret says which conversation it is of: `zq7.x3` is the third one of the seventh. No random id has a dot, so none looks like one. */
const marks = /zq(\d+)\.x\d+/g;
const strangeName = /zq\d+\.x\d+ "[^"]*\\[^"]*"/g;

/** Conversations with secrets, one after the other on one engine, and what went wrong. */
export class RedactWorld implements AsyncDisposable {
  readonly faults: string[] = [];
  readonly seen = { requests: 0, judged: 0, calls: 0, restored: 0, asides: 0, summaries: 0, forks: 0, chained: 0 };
  readonly #server: ReferenceServer;
  readonly #draw: Draw;
  readonly #store = new TurnlogStore(createMemoryStore(), { pause: async () => undefined });
  readonly #engine: ReturnType<typeof createEngine>;
  readonly #compacting: ReturnType<typeof createEngine>;
  /** The conversation that runs, by number. */
  #current = 0;
  #secrets = 0;
  /** Whether the engine shortens Turns behind the judge, which then does not know what was sent. */
  #isCompacting = false;

  private constructor(seed: number, server: ReferenceServer, layers: readonly Layer[]) {
    this.#server = server;
    this.#draw = drawFrom("redact", seed);
    const provider = openaiResponses({ model: "m", apiKey: "k", baseURL: server.baseUrl, transport: "sse" });
    const common = { provider, tools: [this.#lookUp()], maxSteps: 30, sleep: async () => undefined };
    const middleware = [this.#asking(), ...layers, this.#judging()];
    this.#engine = createEngine({ ...common, middleware });
    this.#compacting = createEngine({
      ...{ ...common, middleware },
      compact: { beforeRequest: 60, how: ["summarise", "truncate-results"], keep: 1, maxResultLength: 160 },
    });
  }

  static async start(seed: number, layers: readonly Layer[]): Promise<RedactWorld> {
    const names: string[] = [];
    const server = await startReferenceServer({ answer: ({ reading }) => answer(reading.items, names) });
    return new RedactWorld(seed, server, layers);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#store.close();
    await this.#server[Symbol.asyncDispose]();
  }

  async play(conversations: number): Promise<void> {
    for (let n = 0; n < conversations; n += 1) {
      this.#current = n;
      const before = this.#server.requests.length;
      const talk = await this.#talk();
      for (const { bodyText } of this.#server.requests.slice(before))
        for (const [found] of bodyText.matchAll(marks)) this.faults.push(`the model's server got ${found}`);
      for (const { text } of (await talk.turn()).blocks) this.#mustBeOwn(text, "a Turn");
      const { difference } = await reexecute(talk, this.#engine);
      if (difference !== null) this.faults.push(`conversation ${n}: ${difference.message}`);
    }
    this.seen.requests = this.#server.requests.length;
  }

  async #talk(): Promise<Conversation> {
    const draw = this.#draw;
    let talk = this.#store.conversation();
    for (let rounds = 2 + draw.below(3); rounds > 0; rounds -= 1) {
      await talk.append(`Please look at ${this.#secret()} and ${draw.chance(0.5) ? this.#secret() : "nothing else"}.`);
      this.#isCompacting = draw.chance(0.2);
      for await (const part of talk.stream(this.#isCompacting ? this.#compacting : this.#engine)) {
        this.#mustBeOwn(JSON.stringify(part), "a stream");
        if (part.type === "run-end")
          this.seen.chained += part.result.steps.filter(({ decision }) => decision.strategy === "chained").length;
      }
      if (draw.chance(0.2)) {
        const exchanges = (await talk.turn()).exchanges.length;
        if (exchanges > 1) {
          await talk.compact(this.#engine, { summary: {}, keep: 1 });
          this.seen.summaries += 1;
        }
      } else if (draw.chance(0.1)) {
        talk = await talk.fork();
        this.seen.forks += 1;
      }
    }
    return talk;
  }

  #mustBeOwn(text: string, where: string): void {
    for (const [found, of] of text.matchAll(marks)) {
      this.seen.restored += 1;
      if (Number(of) !== this.#current) this.faults.push(`${where} of conversation ${this.#current} has ${found}`);
    }
  }

  #secret(): string {
    this.#secrets += 1;
    const mark = `zq${this.#current}.x${this.#secrets}`;
    return this.#draw.pick([`${mark}@example.com`, `"${mark}" <${mark}@mail.example.org>`, `${mark} "the\\é"`]);
  }

  #lookUp() {
    return tool({
      name: "look-up",
      description: "Looks up.",
      inputSchema: z.object({ of: z.string() }),
      execute: ({ of }) => {
        this.seen.calls += 1;
        this.#mustBeOwn(of, "a call");
        return this.#draw.chance(0.5)
          ? { found: this.#secret(), of }
          : `found ${this.#secret()} for ${of}, ${"at some length, ".repeat(this.#draw.below(20))}`;
      },
    });
  }

  /** Asks the model beside the conversation, about all of it or about one thing. */
  #asking(): Layer {
    return defineMiddleware({ name: "asking", version: "1.0.0" }, (next) => async (turn, ctx) => {
      if (ctx.random() < 0.8) return next(turn);
      const about = turn.last?.text ?? "";
      const { text } = await ctx.infer({
        input: ctx.random() < 0.5 ? turn.append(user("Beside: who?")) : `Beside: ${about}`,
      });
      if (!ctx.replaying) this.seen.asides += 1;
      this.#mustBeOwn(text, "an answer beside the conversation");
      return next(turn);
    });
  }

  /** Judges every request of a call by what left the last layer. */
  #judging(): Layer {
    return defineMiddleware({ name: "judging", version: "1.0.0" }, (next) => async (turn, ctx) => {
      if (ctx.summarising || this.#isCompacting) return next(turn);
      const judge = createRequestJudge(this.#server);
      const result = await judge.layer.handle(next)(turn, ctx);
      this.faults.push(...judge.incoherences);
      this.seen.judged += judge.judged;
      return result;
    });
  }
}

/** The detectors of these secrets. */
export const ownDetectors = [
  "email" as const,
  { kind: "name", find: strangeName },
  { kind: "mark", find: /zq\d+\.x\d+/ },
];

/** A model that repeats the names that it has read in any conversation, in texts and in calls. */
function answer(items: readonly unknown[], names: string[]): ScriptedAnswer {
  const draw = drawFrom("model", JSON.stringify(items));
  const read = JSON.stringify(items).match(/\[[a-z]+-[0-9a-f]+\]/g) ?? [];
  names.push(...read.slice(-1));
  const said = [draw.pick(["nothing", ...read]), draw.pick(["nothing", ...read, ...names.slice(-20)])].join(" and ");
  const isBeside = /Beside|Summarise/.test(JSON.stringify(items.at(-1)));
  const since = items.length - items.findLastIndex((item) => JSON.stringify(item).includes("Please look"));
  if (isBeside || since > 12 || draw.chance(0.5)) return { output: [message(`I know ${said}.`)] };
  const call = functionCall("look-up", JSON.stringify({ of: `${said}${draw.chance(0.2) ? "\n" : ""}` }), {
    callId: `call_${draw.nonce()}`,
  });
  // The judge does not look at sealed reasoning: an anchor holds it, also where a restored call has left its group.
  const thought = { item: reasoning({ summary: "" }).item, isEncrypted: true };
  return { output: draw.chance(0.3) ? [thought, call] : [call] };
}
