import { isDeepStrictEqual } from "node:util";
import type { JsonObject } from "../src/base/json.ts";
import { TurnlogStore } from "../src/conversation/turnlog-store.ts";
import { blockFromJson, blockJsonSchema, blockToJson } from "../src/domain/block-json.ts";
import type { BlockNames } from "../src/domain/block-names.ts";
import { user } from "../src/domain/make-block.ts";
import type { Turn } from "../src/domain/turn.ts";
import { defaultChainPolicy } from "../src/engine/options/chain-policy.ts";
import type { Engine } from "../src/engine/options/engine.ts";
import { buildRequest, newRequest } from "../src/engine/planning/build-request.ts";
import { learnedCapabilities } from "../src/engine/planning/contexts.ts";
import { cacheLoss } from "../src/engine/recorded/cache-loss.ts";
import { RunTurns } from "../src/projections/client-turn/run-turns.ts";
import type { ConversationView } from "../src/projections/views/conversation-view.ts";
import { createMemoryStore } from "../src/stores/memory/store.ts";
import { mean, ratioOf, takeTurns } from "./rounds.ts";
import { type BenchRow, report } from "./row.ts";
import { chat } from "./sample.ts";

/**
 * The cost of a decision after two new blocks: digests, lookup, shaping and the context of the input, in conversations of 100 and
 * of 10,000 blocks; compared with a client that compares its list with the one it sent before, block by block.
 */
export async function benchPlanning(): Promise<readonly BenchRow[]> {
  const [short, long] = [await sample(100), await sample(10_000)];
  const other = long.turn.blocks.map((block) => reread(blockToJson(block)));
  const times = await takeTurns(12, {
    short: () => decide(short),
    long: () => decide(long),
    looking: () => decide(long, { looksAtCache: true }),
    equality: () => {
      if (!isDeepStrictEqual(long.turn.blocks, other)) throw new Error("the two lists are to be equal");
    },
  });
  const us = (ms: readonly number[], count: number): string => `${((mean(ms) / count) * 1_000).toFixed(1)} µs`;
  const perDecision = times.long.map((ms) => ms / decisions);
  return [
    {
      name: "planning and shaping two new blocks, at 10,000 blocks against 100",
      ...ratioOf(times.long, times.short),
      ...{ unit: "x", bound: 2, kind: "at most" },
      note: `${us(times.long, decisions)} against ${us(times.short, decisions)}`,
    },
    {
      name: "planning at 10,000 blocks that also finds what is lost of a prompt cache, against planning alone",
      ...ratioOf(times.looking, times.long),
      ...{ unit: "x", bound: 1.1, kind: "at most" },
      note: `${us(times.looking, decisions)} against ${us(times.long, decisions)}`,
    },
    {
      name: "deep equality of two lists of 10,000 blocks, against planning",
      ...ratioOf(times.equality, perDecision),
      ...{ unit: "x", bound: 100, kind: "at least" },
      note: `${us(times.equality, 1)} against ${us(times.long, decisions)}, blocks of 2 KB`,
    },
  ];
}

const decisions = 2_000;

type Sample = {
  readonly turn: Turn;
  readonly view: ConversationView;
  readonly engine: Engine;
  readonly names: BlockNames;
};

async function sample(blocks: number): Promise<Sample> {
  const conversation = new TurnlogStore(createMemoryStore()).conversation();
  const engine = await chat(conversation, { exchanges: blocks / 2, bytes: 2_000 });
  const { view, turn } = await (await conversation.at(-1)).load();
  return { turn, view, engine, names: await conversation.names() };
}

/** Many decisions, each with two new blocks. */
function decide({ turn, view, engine, names }: Sample, { looksAtCache = false } = {}): void {
  const { provider, chain } = engine.options;
  const latest = view.latest.get(provider.scope);
  if (latest === undefined) throw new Error("the endpoint is to have answered");
  const settings = view.server.settings.get(latest.context.settingsDigest) ?? provider.settings;
  const fixed = newRequest(view, turn, {
    endpoint: provider,
    settings: () => settings,
    capabilities: learnedCapabilities(provider, view),
    names,
    policy: { ...defaultChainPolicy, ...chain },
    now: new Date().toISOString(),
  });
  const losing = { latest, now: { passes: new RunTurns(turn).passes, frame: "0" }, blame: view.client.blame };
  for (let n = 0; n < decisions; n += 1) {
    const outgoing = turn.append(user(`first ${n}`), user(`second ${n}`));
    const { decision, shaped, input } = buildRequest({ ...fixed, turn: outgoing });
    const isChained = decision.strategy === "chained" && shaped.length === 2;
    if (looksAtCache && cacheLoss({ repairs: [], ...fixed, ...losing, turn: outgoing, outgoing }).lostBytes > 0)
      throw new Error("nothing is to be lost");
    if (!isChained || input.held === turn.digest) throw new Error("two new blocks are to be chained");
  }
}

/** The same block in new objects, as in a client that read its list again. */
const reread = (json: JsonObject) => blockFromJson(blockJsonSchema.parse(JSON.parse(JSON.stringify(json))));

if (import.meta.main) process.exitCode = report(await benchPlanning()) ? 0 : 1;
