import * as z from "zod";
import { sha256Hex } from "../src/base/sha256.ts";
import type { Conversation } from "../src/conversation/conversation.ts";
import { TurnlogStore } from "../src/conversation/turnlog-store.ts";
import { createEngine } from "../src/engine/options/create-engine.ts";
import { defineMiddleware, type Layer } from "../src/engine/ports/middleware.ts";
import { tool } from "../src/engine/ports/tool.ts";
import type { EventStore } from "../src/log/ports/event-store.ts";
import { scripted } from "../src/providers/scripted/scripted.ts";
import { createMemoryStore } from "../src/stores/memory/store.ts";
import { mean, takeTurns } from "./rounds.ts";
import { type BenchRow, report, summary } from "./row.ts";
import { imported, textOf } from "./sample.ts";

/** The cost of recording: an idle layer, a layer that does much in every step, and the appends of a step. */
export async function benchRecording(): Promise<readonly BenchRow[]> {
  return [await benchIdleLayer(), await benchRewritingLayer(), ...(await benchAppends())];
}

/** The price of one more layer, from runs with forty idle layers and with none; in sha256 of 2 KB, timed in the same rounds. */
async function benchIdleLayer(): Promise<BenchRow> {
  const [steps, maxLayers] = [60, 40];
  const layers = Array.from({ length: maxLayers }, (_, n) =>
    defineMiddleware({ name: `idle-${n}`, version: "1.0.0" }, (next) => (turn) => next(turn)),
  );
  const [idle, bare] = [await longConversation(), await longConversation()];
  const times = await takeTurns(20, {
    idle: () => runSteps(idle, steps, layers),
    bare: () => runSteps(bare, steps, []),
    hashing: hashMany,
  });
  const price = (idleMs: number, bareMs: number): number => ((idleMs - bareMs) / steps / maxLayers) * 1_000;
  const hashUs = (mean(times.hashing) / hashes) * 1_000;
  // A difference of two long works: the median of the rounds, because one garbage collection outweighs all layers of one round.
  const { value: us, noise } = summary(times.idle.map((idleMs, round) => price(idleMs, times.bare[round] ?? 0)));
  const note = `${us.toFixed(1)} µs against ${hashUs.toFixed(1)} µs, on a Turn of 1,000 blocks`;
  const name = "an idle layer, in sha256 of 2 KB";
  return { name, value: us / hashUs, noise, unit: "x", bound: 10, kind: "at most", note };
}

/**
 * How much a layer that hides and restores all 1,000 blocks in every step adds to the log: a run of eleven steps with and without
 * it, and one of a single step, because the first step has to record the blocks' hidden forms.
 */
async function benchRewritingLayer(): Promise<BenchRow> {
  const bytes = async (layers: readonly Layer[], steps: number): Promise<number> => {
    const conversation = await longConversation();
    await runWithTools(conversation, { steps, calls: 1, layers });
    return logBytes(conversation);
  };
  const more = async (layers: readonly Layer[]): Promise<number> =>
    (await bytes(layers, 11)) - (await bytes(layers, 1));
  const value = ((await more([shouting])) - (await more([]))) / 10;
  const first = (await bytes([shouting], 1)) - (await bytes([], 1));
  const name = "a layer that hides and restores 1,000 blocks, bytes a step";
  return { name, value, unit: "bytes", bound: 3_000, kind: "at most", note: `${first} bytes in the first step` };
}

const shouting = defineMiddleware({ name: "shouting", version: "1.0.0" }, (next) => async (turn) => {
  const spoken = turn.blocks.filter(({ kind }) => kind === "user");
  const answer = await next(turn.replaceEach(spoken, (block) => block.withText(block.text.toUpperCase())));
  const originals = new Map(spoken.map((block) => [block.id, block]));
  return answer.map((block) => originals.get(block.id) ?? block);
});

async function benchAppends(): Promise<readonly BenchRow[]> {
  const rows: BenchRow[] = [];
  for (const [calls, bound] of [
    [0, 2],
    [3, 3],
  ] as const) {
    const { store, count } = countingAppends(createMemoryStore());
    const conversation = new TurnlogStore(store).conversation();
    await conversation.append("Go on.");
    const before = count();
    const steps = 10;
    if (calls === 0) await runSteps(conversation, steps, []);
    else await runWithTools(conversation, { steps, calls, layers: [] });
    // Excludes the messages before the steps, and the answer that ends a run with tools.
    const appends = count() - before - (calls === 0 ? steps : 2);
    const what = calls === 0 ? "without tools" : `with ${calls} tools that finish together`;
    rows.push({ name: `appends of a step ${what}`, value: appends / steps, unit: "appends", bound, kind: "at most" });
  }
  return rows;
}

const hashes = 20_000;
const hashed = textOf(2_048);
function hashMany(): void {
  for (let n = 0; n < hashes; n += 1) sha256Hex(hashed);
}

async function longConversation(): Promise<Conversation> {
  const conversation = new TurnlogStore(createMemoryStore()).conversation();
  await imported(conversation, 1_000, 2_000);
  return conversation;
}

/** Runs with one step each. */
async function runSteps(conversation: Conversation, steps: number, middleware: readonly Layer[]): Promise<void> {
  const engine = createEngine({ provider: scripted(() => "Yes.", { transport: "json" }), middleware });
  for (let step = 0; step < steps; step += 1) {
    await conversation.append("And?");
    await conversation.run(engine);
  }
}

type ToolSteps = { readonly steps: number; readonly calls: number; readonly layers: readonly Layer[] };

/** One run of steps with tools, and its final answer. */
async function runWithTools(conversation: Conversation, { steps, calls, layers }: ToolSteps): Promise<void> {
  const wait = tool({ name: "wait", description: "Waits.", inputSchema: z.strictObject({}), execute: () => "done" });
  const call = { name: "wait", arguments: "{}" };
  const answers = Array.from({ length: steps }, () => ({ calls: Array.from({ length: calls }, () => call) }));
  const provider = scripted([...answers, "Done."], { transport: "json" });
  await conversation.run(createEngine({ provider, tools: [wait], middleware: layers }));
}

/** The size of all events' data, in UTF-8 bytes. */
async function logBytes(conversation: Conversation): Promise<number> {
  let bytes = 0;
  for await (const { event } of conversation.events()) bytes += Buffer.byteLength(JSON.stringify(event));
  return bytes;
}

function countingAppends(store: EventStore): { readonly store: EventStore; readonly count: () => number } {
  let appends = 0;
  const append: EventStore["append"] = (prepared) => {
    appends += 1;
    return store.append(prepared);
  };
  return { store: { ...store, append }, count: () => appends };
}

if (import.meta.main) process.exitCode = report(await benchRecording()) ? 0 : 1;
