import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import {
  type Expected,
  expectedReading,
  functionCall,
  judge,
  message,
  readItems,
  startReferenceServer,
} from "../../../packages/reference-server/src/server.ts";
import { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import type { Block } from "../../../src/domain/block.ts";
import { user } from "../../../src/domain/make-block.ts";
import type { Turn } from "../../../src/domain/turn.ts";
import { createEngine } from "../../../src/engine/options/create-engine.ts";
import { defineMiddleware, type Layer } from "../../../src/engine/ports/middleware.ts";
import { tool } from "../../../src/engine/ports/tool.ts";
import { openaiResponses } from "../../../src/providers/responses/openai-responses.ts";
import { createMemoryStore } from "../../../src/stores/memory/store.ts";
import { cases, firstSeed, isTelling } from "../../support/cases.ts";
import { createRandom, type Random } from "../../support/coherence/random.ts";
import { replayed } from "../../support/replayed.ts";
import { dataOf, eventsOf } from "../../support/workshop.ts";

const newTally = () => ({
  requests: 0,
  chained: 0,
  full: 0,
  compactions: 0,
  covered: 0,
  stale: 0,
  wrong: [] as string[],
});
type Tally = ReturnType<typeof newTally>;

/** A server that compacts what is longer than a few messages, and answers with what is drawn. */
async function compactingServer() {
  let random = createRandom(0);
  const nonce = (): string => `n${random.below(1e9)}`;
  const server = await startReferenceServer({
    compacts: true,
    maxKept: 200,
    answer: () => ({
      output: [
        ...(random.chance(0.3) ? [message(nonce())] : []),
        random.chance(0.3) ? functionCall("look-up", JSON.stringify({ of: nonce() })) : message(nonce()),
      ],
    }),
  });
  onTestFinished(() => server[Symbol.asyncDispose]());
  const draw = (next: Random): void => {
    random = next;
  };
  return { server, draw };
}

const saidIn = ({ payload }: Block): string => /n\d+/.exec(JSON.stringify(payload["arguments"]))?.[0] ?? "";

/** What a model is meant to read of a Turn: all that was said in it, and nothing of how a server keeps that. */
function expectedOf({ blocks }: Turn): readonly string[] {
  const calls = blocks.filter(({ kind }) => kind === "tool_call");
  return expectedReading(
    blocks.flatMap((block): readonly Expected[] => {
      const { kind: role, text } = block;
      if (role === "user" || role === "assistant") return [{ kind: "text", role, text }];
      if (role === "tool_call")
        return [{ kind: "call", name: block.name ?? "", arguments: JSON.stringify({ of: saidIn(block) }) }];
      const call = calls.findIndex(({ callId }) => callId === block.callId);
      return role === "tool_result" ? [{ kind: "result", call, text }] : [];
    }),
  );
}

/** Edits before some steps; calls keep their results. */
const drawnLayer = (random: Random): Layer =>
  defineMiddleware({ name: "editor", version: "1.0.0" }, (next) => async (turn) => {
    if (random.chance(0.7)) return next(turn);
    const isSaid = ({ kind }: Block): boolean => kind === "user" || kind === "assistant";
    const block = random.pick(turn.blocks.filter(isSaid));
    const items = turn.blocks.filter(({ kind }) => kind === "other");
    const edits: readonly (() => Turn)[] = [
      () => turn.replace(block, block.withText(`${block.text} edited`)),
      () => (turn.blocks.filter(isSaid).length > 1 ? turn.remove(block) : turn),
      () => turn.insert(turn.length, user(`aside ${random.below(1e9)}`)),
      () => turn.insert(0, user(`first ${random.below(1e9)}`)),
      () => turn.remove(...items),
    ];
    const edited = random.pick(edits)();
    const result = await next(edited);
    return random.chance(0.5) ? turn.append(...result.after(edited.length)) : result;
  });

async function play(seed: number, { server, draw }: Awaited<ReturnType<typeof compactingServer>>, tally: Tally) {
  const random = createRandom(seed);
  draw(random);
  server.clear();
  await using store = new TurnlogStore(createMemoryStore());
  let conversation = store.conversation();
  const lookUp = tool({
    ...{ name: "look-up", description: "Looks up.", inputSchema: z.object({ of: z.string() }) },
    execute: ({ of }) => `found ${of}`,
  });
  let judged = 0;
  let outgoing: Turn | null = null;
  const judgeNew = (): void => {
    for (; judged < server.requests.length; judged += 1) {
      const request = server.requests[judged];
      if (request?.method !== "POST" || !request.path.endsWith("/responses")) continue;
      tally.requests += 1;
      const reading = server.reading(judged);
      const lines = reading === undefined ? [`refused: ${request.status}`] : readItems(reading.items);
      const judgement = judge(outgoing === null ? [] : expectedOf(outgoing), lines);
      if (!judgement.coherent) tally.wrong.push(`seed ${seed}, request ${judged}: ${judgement.summary}`);
    }
  };
  const probe = defineMiddleware({ name: "probe", version: "1.0.0" }, (next) => async (turn) => {
    outgoing = turn;
    try {
      return await next(turn);
    } finally {
      judgeNew();
    }
  });
  for (let runs = 3 + random.below(6); runs > 0; runs -= 1) {
    await conversation.append(`question ${random.below(1e9)}`);
    const mode = random.pick(["chained", "chained", "stateless", "conversation"] as const);
    const provider = openaiResponses({
      ...{ model: "m", apiKey: "key", baseURL: server.baseUrl, transport: random.pick(["json", "sse"]) },
      context_management: [{ type: "compaction", compact_threshold: 60 + random.below(120) }],
      store: mode === "conversation" || random.chance(0.8),
      capabilities: { itemIds: random.chance(0.7) },
    });
    const engine = createEngine({
      provider,
      tools: [lookUp],
      maxSteps: 9,
      mode,
      middleware: random.chance(0.7) ? [drawnLayer(random), probe] : [probe],
    });
    await conversation.run(engine).catch((error: unknown) => tally.wrong.push(`seed ${seed}: ${String(error)}`));
    const then = random.below(10);
    if (then === 0) conversation = await conversation.fork(random.below((await conversation.at(-1)).revision + 1));
    if (then === 1) await conversation.compact({ how: "drop-exchanges", keep: 2 });
    if (then === 2) await conversation.revertToExchange(0);
  }
  const { difference } = await replayed(store, { id: conversation.id });
  if (difference !== null) tally.wrong.push(`seed ${seed}: replay: ${difference.message}`);
  const events = await eventsOf(conversation);
  for (const { decision } of dataOf(events, "InferenceRequested")) {
    if (decision.strategy === "full") tally.full += 1;
    else tally.chained += 1;
    const reasons = decision.repairs.map(({ detail }) => detail["reason"]);
    if (reasons.includes("compacted")) tally.covered += 1;
    if (reasons.includes("stale-compaction")) tally.stale += 1;
  }
  for (const { output } of dataOf(events, "ResponseReceived"))
    if (output.some(({ wire }) => wire?.compacts === true)) tally.compactions += 1;
}

test("after any edit a model reads the outgoing Turn: as it is, or as a compaction item that replaces it", async () => {
  const played = await compactingServer();
  const tally = newTally();
  for (let seed = firstSeed; seed < firstSeed + cases(14, 5_000, 30); seed += 1) await play(seed, played, tally);
  const { wrong, ...seen } = tally;
  console.info(`compacting server: ${JSON.stringify(seen)}`);
  expect(wrong.slice(0, 5)).toEqual([]);
  if (!isTelling) return;
  expect(seen.compactions).toBeGreaterThan(20);
  expect(seen.covered).toBeGreaterThan(5);
  expect(seen.stale).toBeGreaterThan(5);
  expect(seen.chained).toBeGreaterThan(20);
});
