import * as z from "zod";
import { sha256Hex } from "../../../src/base/sha256.ts";
import type { Block } from "../../../src/domain/block.ts";
import { user } from "../../../src/domain/make-block.ts";
import type { Turn } from "../../../src/domain/turn.ts";
import type { EngineConfig } from "../../../src/engine/stack/create-engine.ts";
import {
  broughtBy,
  defineMiddleware,
  type Layer,
  type LayerContext,
  type Next,
} from "../../../src/engine/stack/middleware.ts";
import type { Provider } from "../../../src/engine/stack/provider.ts";
import { type Tool, tool } from "../../../src/engine/stack/tool.ts";
import { aiSdk } from "../../../src/providers/ai-sdk/ai-sdk.ts";
import { anthropic } from "../../../src/providers/anthropic/anthropic.ts";
import { chatCompletions } from "../../../src/providers/chat/chat-completions.ts";
import { googleGemini } from "../../../src/providers/google/google-gemini.ts";
import { ollama } from "../../../src/providers/ollama/ollama.ts";
import { type ScriptedAnswer, scripted } from "../../../src/providers/scripted.ts";
import { createAiSdkFront } from "../../../src/reference-server/ai-sdk/front.ts";
import { languageModel } from "../../../src/reference-server/ai-sdk/language-model.ts";
import { createChatFront } from "../../../src/reference-server/chat/chat-front.ts";
import type { Front } from "../../../src/reference-server/front.ts";
import { createGoogleFront } from "../../../src/reference-server/google/google-front.ts";
import { createMessagesFront } from "../../../src/reference-server/messages/messages-front.ts";
import { createOllamaFront } from "../../../src/reference-server/ollama/ollama-front.ts";
import { functionCall, message, readItems, reasoning } from "../../../src/reference-server/server.ts";
import type { DialectName } from "../dialects.ts";
import { fetchFromFront } from "../front-fetch.ts";
import { toy } from "../toy/dialect/provider.ts";
import { fetchFrom, ToyFront, ToyRefusal } from "../toy/front.ts";

/** What tools and effects have done in the world, by idempotency key: it outlives every process. */
export type Ledger = Map<string, { readonly name: string; times: number; readonly answer: string }>;

const numberOf = (text: string): number => Number.parseInt(sha256Hex(text).slice(0, 8), 16);

/** A provider that tells how often it was asked. */
export type ThinkingProvider = Provider & { readonly requests: readonly unknown[] };

/** A model in a dialect whose answer follows from what it reads, and from nothing else; now and then it is busy when it reads that first. */
export const thinkingProviders: Readonly<Record<DialectName, (seed: number) => ThinkingProvider>> = {
  responses(seed) {
    const think = createThinker(seed);
    return scripted(
      ({ context }): ScriptedAnswer => {
        const reading = JSON.stringify(context.map(({ id: _, status: __, ...read }) => read));
        const thought = think(reading, context.filter(({ type }) => type === "function_call_output").length);
        if ("error" in thought) return thought;
        const item = {
          type: "reasoning",
          id: `rs_${thought.name.slice(0, 20)}`,
          summary: [{ type: "summary_text", text: `thought ${thought.name.slice(0, 6)}` }],
          encrypted_content: `sealed ${thought.name}`,
        };
        const text = thought.text === null ? {} : { text: thought.text };
        return { items: thought.isReasoned ? [item] : [], ...text, calls: thought.calls };
      },
      { settings: { model: "thinking" } },
    );
  },
  chat: (seed) =>
    atFront(seed, createChatFront({ chat: "vllm", seed: "thinking" }), (fetch) =>
      chatCompletions({ model: "thinking", dialect: "vllm", transport: "json", fetch }),
    ),
  anthropic: (seed) =>
    atFront(seed, createMessagesFront({ seed: "thinking" }), (fetch) =>
      anthropic({ model: "claude-opus-4-5", apiKey: "sk-ant-thinking", baseURL, transport: "json", fetch }),
    ),
  google: (seed) =>
    atFront(seed, createGoogleFront({ seed: "thinking" }), (fetch) =>
      googleGemini({ model: "thinking", apiKey: "thinking", baseURL, transport: "json", fetch }),
    ),
  ollama: (seed) =>
    atFront(seed, createOllamaFront({ seed: "thinking", now: () => 0 }), (fetch) =>
      ollama({ model: "thinking", baseURL, transport: "json", fetch }),
    ),
  "ai-sdk": (seed) =>
    atFront(seed, createAiSdkFront({ seed: "thinking", now: () => 0 }), (fetch) =>
      aiSdk({ model: languageModel(baseURL, fetch), transport: "json" }),
    ),
  toy(seed) {
    const think = createThinker(seed);
    const front = new ToyFront(({ lines, results }) => {
      const thought = think(lines.join("\n"), results);
      if ("error" in thought) throw new ToyRefusal(thought.error.status ?? 400, thought.error.message);
      return saidIn(thought);
    });
    const { requests } = front;
    return { ...toy("toy:", { settings: { model: "thinking" }, fetch: fetchFrom(front) }), requests };
  },
};

const baseURL = "http://front.test";

/** A model behind a front of the reference server. */
function atFront(seed: number, front: Front, create: (fetch: typeof globalThis.fetch) => Provider): ThinkingProvider {
  const think = createThinker(seed);
  const { fetch, requests } = fetchFromFront(front, (reading) => {
    const results = reading.items.filter(({ type }) => type === "function_call_output").length;
    const thought = think(readItems(reading.items, reading).join("\n"), results);
    if (!("error" in thought)) return saidIn(thought);
    const { status = 400, message: text } = thought.error;
    return { refusal: { ...front.serverError(text), status } };
  });
  return { ...create(fetch), requests };
}

const saidIn = ({ name, text, calls, isReasoned }: Exclude<Thought, { readonly error: unknown }>) => ({
  output: [
    ...(isReasoned ? [reasoning({ summary: `thought ${name.slice(0, 6)}` })] : []),
    ...(text === null ? [] : [message(text)]),
    ...calls.map((call) => functionCall(call.name, JSON.stringify(call.arguments))),
  ],
});

type Thought =
  | { readonly error: { readonly status?: number; readonly message: string } }
  | {
      readonly name: string;
      readonly isReasoned: boolean;
      readonly text: string | null;
      readonly calls: readonly {
        readonly name: string;
        readonly arguments: { readonly of: string };
        readonly callId: string;
      }[];
    };

const maxResults = 5;

function createThinker(seed: number): (reading: string, results: number) => Thought {
  const wasBusy = new Set<string>();
  return (reading, results) => {
    const name = sha256Hex(`${seed} ${reading}`);
    const dice = numberOf(name);
    if (dice % 17 === 0) return { error: { message: `refused ${name.slice(0, 6)}` } };
    if (dice % 4 === 1 && !wasBusy.has(name)) {
      wasBusy.add(name);
      return { error: { status: dice % 8 === 1 ? 429 : 503, message: "busy" } };
    }
    const calls = Array.from({ length: results >= maxResults || dice % 5 === 0 ? 0 : 1 + (dice % 3) }, (_, n) => ({
      name: ["look-up", "charge", "remind"][(dice + n) % 3] ?? "look-up",
      arguments: { of: `${name.slice(0, 6)}${n}` },
      callId: `call_${name.slice(0, 10)}${n}`,
    }));
    const text = calls.length === 0 || dice % 7 === 0 ? `answer ${name.slice(0, 8)}` : null;
    return { name, calls, text, isReasoned: dice % 2 === 0 };
  };
}

/** Tools that write what they do into the ledger; only `look-up` and `remind` may be run twice. */
function ledgerTools(ledger: Ledger): readonly Tool[] {
  return ["look-up", "charge", "remind"].map((name) =>
    tool({
      name,
      description: `Does ${name}.`,
      inputSchema: z.object({ of: z.string() }),
      idempotent: name !== "charge",
      async execute({ of }, { idempotencyKey }) {
        if (name === "remind" && numberOf(of) % 4 === 0) throw new Error(`cannot remind ${of}`);
        return enter(ledger, { key: idempotencyKey, name, answer: `${name} ${of}` });
      },
    }),
  );
}

type Entry = { readonly key: string; readonly name: string; readonly answer: string };

function enter(ledger: Ledger, { key, name, answer }: Entry): string {
  const known = ledger.get(key);
  if (known === undefined) ledger.set(key, { name, times: 1, answer });
  else known.times += 1;
  return known?.answer ?? answer;
}

/** Layers that edit, restore, retry, hide, reach outside and ask the model beside the conversation, as chance says that the log can repeat. */
function randomLayers(seed: number, ledger: Ledger): readonly Layer[] {
  return Array.from({ length: 1 + (seed % 3) }, (_, depth) =>
    defineMiddleware(
      { name: `layer-${depth}`, version: "1.0.0" },
      (next) => (turn, ctx) => layer(turn, ctx, { next, ledger }),
    ),
  );
}

async function layer(
  given: Turn,
  ctx: LayerContext,
  { next, ledger }: { readonly next: Next; readonly ledger: Ledger },
): Promise<Turn> {
  const dice = Math.floor(ctx.random() * 1_000);
  let asked = given;
  if (dice % 5 === 0) asked = asked.insert(0, user(`note ${dice} of ${ctx.now()}`));
  if (dice % 7 === 0) asked = asked.map((block) => (block.kind === "tool_result" ? block.withText("shorter") : block));
  if (dice % 11 === 0 && asked.length > 1) asked = asked.remove(firstOf(asked));
  if (dice % 3 === 0) {
    const name = dice % 2 === 0 ? "fetch" : "post";
    const work = async ({ idempotencyKey: key }: { readonly idempotencyKey: string }): Promise<string> =>
      enter(ledger, { key, name, answer: `${name} ${dice}` });
    const found = await ctx.effect(name, work, { idempotent: name === "fetch" }).catch(String);
    asked = asked.append(user(`found ${JSON.stringify(found)}`));
  }
  if (dice % 4 === 3) {
    const question = user(`how ${dice}?`);
    const told = ctx.infer({ input: dice % 8 === 3 ? asked.append(question) : question });
    asked = asked.append(user(`told ${await told.then(({ text }) => text, String)}`));
  }
  if (dice % 13 === 0) ctx.onAcknowledged(() => enter(ledger, { key: `ack ${ctx.frame}`, name: "ack", answer: "" }));
  let result: Turn;
  try {
    result = await next(asked);
  } catch {
    result = await next(asked.append(user("once more")));
  }
  if (dice % 6 === 0) result = await next(result.append(user(`and ${dice}?`)));
  if (dice % 2 === 0) return given.append(...broughtBy(given, result).filter(({ kind }) => kind !== "user"));
  return dice % 9 === 0 ? result.map(louder) : result;
}

function firstOf(turn: Turn): Block {
  const first = turn.at(0);
  if (first === undefined) throw new Error("an empty Turn reached a layer");
  return first;
}

const louder = (block: Block): Block => (block.kind === "assistant" ? block.withText(`${block.text}!`) : block);

/** A whole engine of a seed, on a ledger and a model that outlive it. */
export function engineConfig(seed: number, ledger: Ledger, provider: Provider): EngineConfig {
  return {
    provider,
    tools: ledgerTools(ledger),
    middleware: randomLayers(seed, ledger),
    maxSteps: 8,
    sleep: async () => undefined,
  };
}
