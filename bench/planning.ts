import { isDeepStrictEqual } from "node:util";
import type { JsonObject } from "../src/base/json.ts";
import { blockFromJson, blockJsonSchema, blockToJson } from "../src/domain/block-json.ts";
import { user } from "../src/domain/make-block.ts";
import type { Turn } from "../src/domain/turn.ts";
import type { Engine } from "../src/engine/create-engine.ts";
import { defaultChainPolicy, type PlanRequest, plan } from "../src/engine/planner/plan.ts";
import { heldContext, shapedBlocks } from "../src/engine/planner/shaped-input.ts";
import { contextsOf, learnedCapabilities } from "../src/engine/run/contexts.ts";
import { settingsDigest } from "../src/engine/run/settings.ts";
import { TurnlogStore } from "../src/engine/turnlog-store.ts";
import type { ConversationView } from "../src/projections/conversation-view.ts";
import { createMemoryStore } from "../src/stores/memory/store.ts";
import { type BenchRow, report, summary } from "./row.ts";
import { chat } from "./sample.ts";

/**
 * What a decision costs after two new blocks: digests, lookup, shaping and the context of the input, in conversations of
 * 100 and of 10,000 blocks; and against a client that compares its list with what it sent before, block by block.
 */
export async function benchPlanning(): Promise<readonly BenchRow[]> {
  const [short, long] = [await sample(100), await sample(10_000)];
  const other = long.turn.blocks.map((block) => reread(blockToJson(block)));
  const times: Record<"short" | "long" | "equal", number[]> = { short: [], long: [], equal: [] };
  for (let round = -3; round < 15; round += 1) {
    const [shortUs, longUs] = [decisionUs(short), decisionUs(long)];
    const start = performance.now();
    if (!isDeepStrictEqual(long.turn.blocks, other)) throw new Error("the two lists are to be equal");
    const equalUs = (performance.now() - start) * 1_000;
    // The first rounds warm up.
    if (round < 0) continue;
    times.short.push(shortUs);
    times.long.push(longUs);
    times.equal.push(equalUs);
  }
  const us = (list: readonly number[]): string => `${summary(list).value.toFixed(1)} µs`;
  const ratios = (above: readonly number[], below: readonly number[]): readonly number[] =>
    above.map((value, round) => value / (below[round] ?? Number.NaN));
  return [
    {
      name: "planning and shaping two new blocks, at 10,000 blocks against 100",
      ...summary(ratios(times.long, times.short)),
      ...{ unit: "x", bound: 2, kind: "at most" },
      note: `${us(times.long)} against ${us(times.short)}`,
    },
    {
      name: "deep equality of two lists of 10,000 blocks, against planning",
      ...summary(ratios(times.equal, times.long)),
      ...{ unit: "x", bound: 100, kind: "at least" },
      note: `${us(times.equal)} against ${us(times.long)}, blocks of 2 KB`,
    },
  ];
}

type Sample = { readonly turn: Turn; readonly view: ConversationView; readonly engine: Engine };

async function sample(blocks: number): Promise<Sample> {
  const conversation = new TurnlogStore(createMemoryStore()).conversation();
  const engine = await chat(conversation, { exchanges: blocks / 2, bytes: 2_000 });
  const { view, turn } = await (await conversation.at(-1)).load();
  return { turn, view, engine };
}

/** Microseconds of one decision, over a hundred of them, each about two blocks that nobody has seen yet. */
function decisionUs({ turn, view, engine }: Sample): number {
  const { provider, chain } = engine.options;
  const fixed = {
    contexts: contextsOf(view),
    provenance: { authorOf: () => null, removerOf: () => null },
    ...{ scope: provider.scope, codec: provider.codec, capabilities: learnedCapabilities(provider, view) },
    ...{ settings: provider.settings, settingsDigest: settingsDigest(provider.settings) },
    policy: { ...defaultChainPolicy, ...chain },
    now: new Date().toISOString(),
  } satisfies Omit<PlanRequest, "turn">;
  const decisions = 100;
  const added = Array.from({ length: decisions }, (_, n) => [user(`first ${n}`), user(`second ${n}`)]);
  const start = performance.now();
  for (const blocks of added) {
    const outgoing = turn.append(...blocks);
    const { strategy, sendFrom, repairs } = plan({ ...fixed, turn: outgoing });
    const shaped = shapedBlocks(outgoing, sendFrom, repairs, { scope: provider.scope, itemIds: true });
    if (strategy !== "chained" || shaped.length !== 2) throw new Error("two new blocks are to be chained");
    heldContext(turn.digest, shaped);
  }
  return ((performance.now() - start) / decisions) * 1_000;
}

/** The same block in other objects, as a client has it that read its own list again. */
const reread = (json: JsonObject) => blockFromJson(blockJsonSchema.parse(JSON.parse(JSON.stringify(json))));

if (import.meta.main) process.exitCode = report(await benchPlanning()) ? 0 : 1;
