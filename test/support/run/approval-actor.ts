import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { setImmediate } from "node:timers/promises";
import * as z from "zod";
import type { Conversation } from "../../../src/conversation/conversation.ts";
import { openStore } from "../../../src/conversation/open-store.ts";
import type { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import { createEngine } from "../../../src/engine/options/create-engine.ts";
import type { Engine } from "../../../src/engine/options/engine.ts";
import { defineMiddleware } from "../../../src/engine/ports/middleware.ts";
import { externalTool, type Tool, tool } from "../../../src/engine/ports/tool.ts";
import { interceptedBy } from "../../../src/engine/run/run-options.ts";
import type { Waiting } from "../../../src/projections/views/waiting.ts";
import { openaiResponses } from "../../../src/providers/responses/openai-responses.ts";
import { type Draw, drawFrom } from "../../../src/testing/rehearsal/draw.ts";
import { counting, type holdAt } from "../faults/crash-world.ts";

/** Above this, a refund needs approval. */
export const limit = 50;

/** What outlives every process: the store, the model's server, and what was done outside of the log. */
export const placeSchema = z.object({ url: z.string(), modelUrl: z.string(), ledger: z.string() });
export type Place = z.infer<typeof placeSchema>;

/** One thing that was done, by the process of this name. */
const deedSchema = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("ran"), by: z.string(), key: z.string(), name: z.string(), input: z.unknown() }),
  /** Written before the decision is made: the process may die before it learns that it was recorded. */
  z.object({ kind: z.literal("means"), by: z.string(), call: z.string(), how: z.string(), input: z.unknown() }),
  /** What the decision came to: `new`, `known`, or the code of its refusal. */
  z.object({ kind: z.literal("decided"), by: z.string(), call: z.string(), outcome: z.string() }),
  z.object({ kind: z.literal("settled"), by: z.string(), call: z.string() }),
]);
export type Deed = z.infer<typeof deedSchema>;

export const deedsOf = ({ ledger }: Place): readonly Deed[] =>
  existsSync(ledger)
    ? readFileSync(ledger, "utf8")
        .trimEnd()
        .split("\n")
        .map((line) => deedSchema.parse(JSON.parse(line)))
    : [];

type Held = Pick<ReturnType<typeof holdAt>, "gate">;

type Beginning = { readonly place: Place; readonly name: string; readonly seed: number };

/** Minutes pass for this process only, and only where it waits. */
type Clock = { now: number };

/** A process that answers, decides and settles in conversations that other processes answer and decide in as well. */
export class ApprovalActor implements AsyncDisposable {
  readonly name: string;
  readonly #place: Place;
  readonly #store: TurnlogStore;
  readonly #seed: number;
  readonly #draws = new Map<string, Draw>();
  readonly #clock: Clock;
  /** Processes of one version have the same stack. */
  readonly #version: number;

  private constructor({ place, name, seed }: Beginning, store: TurnlogStore, clock: Clock) {
    this.name = name;
    this.#place = place;
    this.#store = store;
    this.#clock = clock;
    this.#seed = seed;
    this.#version = drawFrom("version", seed, name).pick([0, 0, 1]);
  }

  static async open(beginning: Beginning): Promise<ApprovalActor> {
    const clock = { now: Date.parse("2026-03-01T12:00:00.000Z") };
    const count = (): number => {
      clock.now += 1;
      return clock.now;
    };
    const store = await openStore(beginning.place.url, { clock: count, viewsPath: ":memory:" });
    return new ApprovalActor(beginning, store, clock);
  }

  conversation(id: string): Conversation {
    return this.#store.conversation(id);
  }

  /** What is drawn for a conversation does not depend on what goes on in others. */
  #drawn(id: string): Draw {
    const draw = this.#draws.get(id) ?? drawFrom("approval actor", this.#seed, this.name, id);
    this.#draws.set(id, draw);
    return draw;
  }

  /** Runs up to a stop, if `held` has one; says how the run ended. */
  async run(id: string, held: Held = counting()): Promise<string> {
    const onMessageWhileWaiting = this.#drawn(id).pick(["wait", "wait", "deny"] as const);
    return outcomeOf(
      this.conversation(id)
        .run(this.#engine(), { ...interceptedBy(held.gate, {}), onMessageWhileWaiting })
        .then(({ status }) => status),
      ["run-in-progress"],
    );
  }

  /** Decides about one thing that waits, as chance says. */
  async decide(id: string): Promise<void> {
    if (this.#drawn(id).chance(0.1)) this.#clock.now += 61_000;
    const [first, ...others] = await this.waiting(id);
    if (first !== undefined) await this.#answer(id, this.#drawn(id).pick([first, ...others]));
  }

  /** Decides everything, until nothing waits and every message is answered. */
  async finish(id: string): Promise<string> {
    let status = "";
    for (let round = 0; round < 40 && status !== "completed"; round += 1) {
      status = await this.run(id);
      for (const waiting of await this.waiting(id)) await this.#answer(id, waiting);
    }
    return status;
  }

  async waiting(id: string): Promise<readonly Waiting[]> {
    return (await (await this.conversation(id).at(-1)).load()).run?.waitingFor ?? [];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#store.close();
  }

  async #answer(id: string, { kind, blockId, input }: Waiting): Promise<void> {
    const conversation = this.conversation(id);
    const actor = { kind: "user", name: this.name } as const;
    if (kind !== "approval") {
      const ran = deedsOf(this.#place).some((deed) => deed.kind === "ran" && deed.key === blockId);
      const settlement =
        kind === "doubt" && !ran
          ? ({ how: "rerun" } as const)
          : ({ how: "result", output: `settled ${blockId}` } as const);
      const settling = conversation.settle(blockId, settlement, actor).then(() => "settled");
      if ((await outcomeOf(settling, ["not-in-doubt"])) === "settled")
        this.#did({ kind: "settled", by: this.name, call: blockId });
      return;
    }
    const how = this.#drawn(id).pick(["approve", "approve", "edit", "deny"] as const);
    const given = how === "edit" ? { amount: 51 + this.#drawn(id).pick([0, 1, 2, 3]) } : input;
    const mine = { by: this.name, call: blockId };
    this.#did({ kind: "means", ...mine, how, input: how === "deny" ? null : given });
    const deciding =
      how === "deny"
        ? conversation.deny(blockId, { actor })
        : conversation.approve(blockId, { actor, ...(how === "edit" ? { input: given } : {}) });
    const said = deciding.then(({ isNew }) => (isNew ? "new" : "known"));
    const outcome = await outcomeOf(said, ["approval-decided", "approval-expired", "not-waiting"]);
    this.#did({ kind: "decided", ...mine, outcome });
  }

  #did(deed: Deed): void {
    appendFileSync(this.#place.ledger, `${JSON.stringify(deed)}\n`);
  }

  #engine(): Engine {
    const passing = defineMiddleware({ name: "passing", version: `${this.#version}.0.0` }, (next) => next);
    return createEngine({
      provider: openaiResponses({ model: "m", apiKey: "k", baseURL: this.#place.modelUrl }),
      tools: this.#tools(),
      middleware: [passing],
      clock: () => this.#clock.now,
      sleep: async () => undefined,
    });
  }

  #tools(): readonly Tool[] {
    const run = async (name: string, input: { readonly amount?: number }, key: string): Promise<string> => {
      await setImmediate();
      this.#did({ kind: "ran", by: this.name, key, name, input });
      return `${name} of ${JSON.stringify(input)}`;
    };
    const described = { description: "x" } as const;
    return [
      tool({
        ...{ name: "refund", ...described, inputSchema: z.object({ amount: z.number() }) },
        needsApproval: ({ amount }) =>
          amount > limit && { reason: "over the limit", ...(amount === 80 ? { expiresInMs: 60_000 } : {}) },
        execute: (input, { idempotencyKey }) => run("refund", input, idempotencyKey),
      }),
      tool({
        ...{ name: "look-up", ...described, inputSchema: z.object({}) },
        execute: (input, { idempotencyKey }) => run("look-up", input, idempotencyKey),
      }),
      externalTool({ name: "locate", ...described, inputSchema: z.object({}) }),
    ];
  }
}

/** What came of it, or the code of an error that another process's work may cause. */
async function outcomeOf(doing: Promise<string>, codes: readonly string[]): Promise<string> {
  try {
    return await doing;
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "";
    if (codes.includes(code)) return code;
    throw error;
  }
}
