import { z } from "zod";
import {
  functionCall,
  message,
  type ReferenceServer,
  reasoning,
  type ScriptedAnswer,
  type ScriptedItem,
  startReferenceServer,
} from "../../../packages/reference-server/src/server.ts";
import type { ReasoningReport } from "../../../src/analysis/explain/reasoning-report.ts";
import { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import type { Block } from "../../../src/domain/block.ts";
import { user } from "../../../src/domain/make-block.ts";
import type { Turn } from "../../../src/domain/turn.ts";
import { createEngine } from "../../../src/engine/options/create-engine.ts";
import type { Engine } from "../../../src/engine/options/engine.ts";
import { defineMiddleware, type Layer } from "../../../src/engine/ports/middleware.ts";
import { tool } from "../../../src/engine/ports/tool.ts";
import { openaiResponses } from "../../../src/providers/responses/openai-responses.ts";
import { createMemoryStore } from "../../../src/stores/memory/store.ts";
import { createRandom, type Random } from "../coherence/random.ts";
import { dataOf, eventsOf } from "../workshop.ts";

/** A request of a random conversation: what turnlog says about its reasoning, and the reference server's refusal, if it refused. */
export type Thought = { readonly report: ReasoningReport; readonly refusal: string | null };

export type ThinkingServer = ReferenceServer & {
  readonly draw: (random: Random) => void;
  readonly checks: "withhold" | "refuse";
};

/** A server that checks reasoning, and answers with what is drawn. */
export async function startThinkingServer(checksReasoning: "withholds" | "refuses"): Promise<ThinkingServer> {
  let random = createRandom(0);
  const answer = (): ScriptedAnswer => ({ output: drawnAnswer(random) });
  const server = await startReferenceServer({ checksReasoning, compacts: true, answer, maxKept: 200 });
  return {
    ...server,
    checks: checksReasoning === "refuses" ? "refuse" : "withhold",
    draw(next) {
      random = next;
    },
  };
}

function drawnAnswer(random: Random): readonly ScriptedItem[] {
  const nonce = (): string => random.below(1e9).toString(36);
  const thought = (): ScriptedItem => reasoning(random.chance(0.5) ? { summary: nonce() } : {});
  const said = random.chance(0.3) ? functionCall("look-up", JSON.stringify({ of: nonce() })) : message(nonce());
  const hosted: ScriptedItem = {
    item: { type: "web_search_call", status: "completed", action: { type: "search", query: nonce() } },
    isEncrypted: false,
  };
  const shapes: readonly (readonly ScriptedItem[])[] = [
    [thought(), said],
    [thought(), said],
    [said],
    [thought(), hosted, said],
    [thought(), message(nonce()), thought(), said],
  ];
  return random.pick(shapes);
}

/** Plays a random conversation whose layers edit before each run, and gives every request of it; `edits` counts them. */
export async function playThinking(
  seed: number,
  { server, counted }: { readonly server: ThinkingServer; readonly counted: { edits: number } },
): Promise<readonly Thought[]> {
  const random = createRandom(seed);
  server.draw(random);
  await using store = new TurnlogStore(createMemoryStore());
  const conversation = store.conversation();
  for (let runs = 2 + random.below(6); runs > 0; runs -= 1) {
    await conversation.append(`question ${random.below(1e9)}`);
    const engine = drawnEngine(random, server, counted);
    // A run whose request is refused twice fails, and is one more thing that happens.
    await conversation.run(engine).catch(() => undefined);
  }
  const events = await eventsOf(conversation);
  const failures = new Map(
    dataOf(events, "InferenceFailed").map(({ inferenceId, message: text }) => [inferenceId, text]),
  );
  const thoughts: Thought[] = [];
  for (const { event, revision } of events) {
    if (event.type !== "InferenceRequested") continue;
    const refusal = failures.get(event.data.inferenceId) ?? null;
    thoughts.push({ report: await conversation.reasoning(revision), refusal });
  }
  return thoughts;
}

function drawnEngine(random: Random, server: ThinkingServer, counted: { edits: number }): Engine {
  const lookUp = tool({
    name: "look-up",
    description: random.chance(0.9) ? "Looks up." : "Looks things up.",
    inputSchema: z.object({ of: z.string() }),
    execute: ({ of }) => `found ${of}`,
  });
  const provider = openaiResponses({
    ...{ model: random.chance(0.9) ? "m" : "n", baseURL: server.baseUrl, apiKey: "key", transport: "json" },
    store: random.chance(0.7),
    instructions: random.chance(0.9) ? "Be brief." : "Be kind.",
    systemAs: random.chance(0.8) ? "input" : "instructions",
    ...(random.chance(0.3) ? { context_management: [{ type: "compaction", compact_threshold: 150 }] } : {}),
    ...(random.chance(0.1) ? { reasoning: { context: "current_turn" } as const } : {}),
    capabilities: {
      itemIds: random.chance(0.7),
      reasoningPrefix: server.checks,
    },
  });
  return createEngine({
    provider,
    tools: [lookUp],
    maxSteps: 4,
    mode: random.chance(0.5) ? "chained" : "stateless",
    chain: random.chance(0.3) ? { onSettingsChange: { model: "chain" } } : {},
    middleware: random.chance(0.8) ? [drawnLayer(random, counted)] : [],
  });
}

/** A layer that edits once, before a step that is drawn; what it does lasts, or is undone on the way back. */
function drawnLayer(random: Random, counted: { edits: number }): Layer {
  const isOnce = random.chance(0.3);
  let isDone = false;
  return defineMiddleware({ name: isOnce ? "once" : "editor", version: "1.0.0" }, (next) => async (turn, ctx) => {
    if (isDone || random.chance(0.3)) return next(turn);
    isDone = true;
    counted.edits += 1;
    if (random.chance(0.1)) ctx.instructions(`Mind ${random.below(3)}.`);
    const edited = drawnEdit(turn, random);
    const result = await next(edited);
    return isOnce ? turn.append(...result.after(edited.length)) : result;
  });
}

function drawnEdit(turn: Turn, random: Random): Turn {
  const block = turn.at(random.below(turn.length));
  if (block === undefined) return turn;
  const thoughts = turn.blocks.filter(({ kind }) => kind === "reasoning");
  const oldest = thoughts.slice(0, 1 + random.below(2));
  const edits: readonly (() => Turn)[] = [
    () => turn.replace(block, block.withText(`${block.text} (edited)`)),
    () => (turn.length > 1 ? turn.remove(block) : turn),
    () => turn.insert(random.below(turn.length + 1), user(`aside ${random.below(1e9)}`)),
    () => turn.move(block, random.below(turn.length)),
    () => turn.remove(...oldest),
    () => turn.remove(...thoughts.filter((): boolean => random.chance(0.3))),
    () => turn.insert(random.below(turn.length + 1), copyOf(block)),
  ];
  return random.pick(edits)();
}

const copyOf = (block: Block): Block => block.withId(null);
