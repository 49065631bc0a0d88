import { afterAll, expect, test } from "vitest";
import * as z from "zod";
import type { Block } from "../../../src/domain/block.ts";
import { defineMiddleware, type Layer } from "../../../src/engine/ports/middleware.ts";
import { ProviderError } from "../../../src/engine/ports/provider-error.ts";
import { tool } from "../../../src/engine/ports/tool.ts";
import type { ScriptedAnswer } from "../../../src/providers/scripted/scripted.ts";
import { seeds } from "../../support/cases.ts";
import { createRandom, type Random } from "../../support/coherence/random.ts";
import { gated, untilAborted } from "../../support/gates.ts";
import { createWorkshop, freshStore, rejectionOf, storeKinds } from "../../support/workshop.ts";

/** What one answer of the model says, and how a run is stopped. All of it is drawn before anything runs. */
type Step = { readonly thought: string | null; readonly text: string | null; readonly calls: readonly string[] };
type Stop = {
  readonly how:
    | "provider fails"
    | "layer throws on the way in"
    | "layer throws on the way out"
    | "aborted in a stream"
    | "aborted in a tool";
  readonly step: number;
  /** The call whose tool is running when the run is aborted. */
  readonly call: string;
};
type Plan = {
  readonly steps: readonly Step[];
  readonly stop: Stop;
  readonly hasFilter: boolean;
  readonly hasVeil: boolean;
};

function draw(random: Random): Plan {
  const count = 1 + random.below(4);
  const steps = Array.from(
    { length: count },
    (_, n): Step => ({
      thought: random.chance(0.5) ? `thought ${n}` : null,
      text: n === count - 1 || random.chance(0.4) ? `text ${n}` : null,
      calls: n === count - 1 ? [] : Array.from({ length: 1 + random.below(3) }, (__, k) => `c${n}_${k}`),
    }),
  );
  const step = random.below(count);
  const calls = steps[step]?.calls ?? [];
  const hows = [
    "provider fails",
    "layer throws on the way in",
    "layer throws on the way out",
    "aborted in a stream",
  ] as const;
  const how = calls.length > 0 && random.chance(0.4) ? "aborted in a tool" : random.pick(hows);
  const call = calls.length > 0 ? random.pick(calls) : "";
  return { steps, stop: { how, step, call }, hasFilter: random.chance(0.4), hasVeil: random.chance(0.4) };
}

/** A second implementation of the rule "Runs that do not complete": every step that a later one continued, its results in the order of its calls, and nothing else. */
function expected({ steps, stop, hasFilter }: Plan): readonly string[] {
  const whole = stop.how === "aborted in a tool" ? stop.step + 1 : stop.step;
  const lines = ["user hello"];
  for (const [n, { thought, text, calls }] of steps.slice(0, whole).entries()) {
    if (thought !== null && !hasFilter) lines.push(`reasoning ${thought}`);
    if (text !== null) lines.push(`assistant ${text}`);
    for (const call of calls) lines.push(`tool_call ${call}`);
    for (const call of calls) {
      const isInFlight = n === stop.step && call === stop.call;
      lines.push(`tool_result ${isInFlight ? "in doubt" : `result of ${call}`}`);
    }
  }
  // It is said during the first request, where there is one.
  const hasRequest = stop.how !== "layer throws on the way in" || stop.step > 0;
  return hasRequest ? [...lines, "user meanwhile"] : lines;
}

const tally = { runs: 0, blocks: 0 };

test.each(storeKinds)("whatever stops a run, its Turn is what the model says (%s)", async (kind) => {
  for (const seed of kind === "memory" ? seeds(20, 15_000, 120) : seeds(5, 2_500, 15)) {
    const plan = draw(createRandom(seed));
    const lines = await stopped(plan, kind);
    expect(lines, `seed ${seed}: ${JSON.stringify(plan.stop)}`).toEqual(expected(plan));
    tally.runs += 1;
    tally.blocks += lines.length;
  }
});

async function stopped(plan: Plan, kind: (typeof storeKinds)[number]): Promise<readonly string[]> {
  const { steps, stop } = plan;
  const { conversation, ...workshop } = createWorkshop({ events: await freshStore(kind) });
  const abort = new AbortController();
  await conversation.append("hello");
  const provider = gated(steps.map(answerOf), async (request) => {
    if (request === 0) await conversation.append("meanwhile");
    if (stop.how === "provider fails" && request === stop.step) {
      throw new ProviderError("down", { kind: "server-error", outcome: "unknown" });
    }
  });
  const echo = tool({
    name: "echo",
    description: "",
    inputSchema: z.object({}),
    execute: (_, { callId, signal }) => {
      if (stop.how !== "aborted in a tool" || callId !== stop.call) return `result of ${callId}`;
      // The others are done by then.
      setImmediate(() => {
        abort.abort();
      });
      return untilAborted(signal);
    },
  });
  let asked = 0;
  const observers = [
    {
      next: ({ type }: { readonly type: string }) => {
        if (type === "request-start") asked += 1;
        if (type.endsWith("-delta") && stop.how === "aborted in a stream" && asked === stop.step + 1) abort.abort();
      },
    },
  ];
  const middleware = [...(plan.hasFilter ? [withoutReasoning] : []), ...(plan.hasVeil ? [veil] : []), throwing(stop)];
  const engine = workshop.engine({ provider, tools: [echo], middleware, observers });
  await rejectionOf(conversation.run(engine, { signal: abort.signal }));
  return (await conversation.turn()).blocks.map(lineOf);
}

const answerOf = ({ thought, text, calls }: Step): ScriptedAnswer => ({
  ...(thought === null ? {} : { reasoning: thought }),
  ...(text === null ? {} : { text }),
  calls: calls.map((callId) => ({ name: "echo", arguments: {}, callId })),
});

const lineOf = ({ kind, callId, text }: Block): string => {
  if (kind === "tool_call") return `tool_call ${callId ?? ""}`;
  return `${kind} ${text.startsWith("in doubt") ? "in doubt" : text}`;
};

/** What a finished layer took out of an answer stays out. */
const withoutReasoning = defineMiddleware(
  { name: "without-reasoning", version: "1.0.0" },
  (next) => async (turn) => (await next(turn)).filter(({ kind }) => kind !== "reasoning"),
);

/** What a layer does to a request for its time only leaves no trace. */
const veil = defineMiddleware({ name: "veil", version: "1.0.0" }, (next) => async (turn) => {
  const originals = new Map(turn.blocks.map((block) => [block.id, block]));
  const result = await next(turn.map((block) => (block.kind === "user" ? block.withText("veiled") : block)));
  return result.map((block) => originals.get(block.id) ?? block);
});

function throwing({ how, step }: Stop): Layer {
  let calls = 0;
  return defineMiddleware({ name: "throwing", version: "1.0.0" }, (next) => async (turn) => {
    const isNow = calls === step;
    calls += 1;
    if (isNow && how === "layer throws on the way in") throw new Error("on the way in");
    const result = await next(turn);
    if (isNow && how === "layer throws on the way out") throw new Error("on the way out");
    return result;
  });
}

afterAll(() => {
  process.stdout.write(`unfinished: ${tally.runs} stopped runs, ${tally.blocks} blocks as the model says\n`);
});
