import * as z from "zod";
import { createAiSdkFront } from "../../../packages/reference-server/src/ai-sdk/front.ts";
import { languageModel } from "../../../packages/reference-server/src/ai-sdk/language-model.ts";
import { createChatFront } from "../../../packages/reference-server/src/chat/chat-front.ts";
import { createClaudeCliFront } from "../../../packages/reference-server/src/claude-cli/cli-front.ts";
import type { Front } from "../../../packages/reference-server/src/front.ts";
import { createGoogleFront } from "../../../packages/reference-server/src/google/google-front.ts";
import { createInteractionsFront } from "../../../packages/reference-server/src/google/interactions-front.ts";
import { createMessagesFront } from "../../../packages/reference-server/src/messages/messages-front.ts";
import { createOllamaFront } from "../../../packages/reference-server/src/ollama/ollama-front.ts";
import {
  functionCall,
  message,
  readItems,
  reasoning,
  type ScriptedAnswer,
} from "../../../packages/reference-server/src/server.ts";
import type { JsonObject, JsonValue } from "../../../src/base/json.ts";
import { sha256Hex } from "../../../src/base/sha256.ts";
import type { EngineConfig } from "../../../src/engine/options/create-engine.ts";
import { fallback } from "../../../src/engine/options/fallback.ts";
import type { Route } from "../../../src/engine/options/route.ts";
import type { Codec } from "../../../src/engine/ports/codec.ts";
import type { Provider } from "../../../src/engine/ports/provider.ts";
import { ProviderError } from "../../../src/engine/ports/provider-error.ts";
import { aiSdk } from "../../../src/providers/ai-sdk/ai-sdk.ts";
import { anthropic } from "../../../src/providers/anthropic/anthropic.ts";
import { chatCompletions } from "../../../src/providers/chat/chat-completions.ts";
import { claudeCli } from "../../../src/providers/claude-cli/claude-cli.ts";
import { googleGemini } from "../../../src/providers/google/google-gemini.ts";
import { googleInteractions } from "../../../src/providers/google/google-interactions.ts";
import { ollama } from "../../../src/providers/ollama/ollama.ts";
import { type ScriptedAnswer as ScriptedHere, scripted } from "../../../src/providers/scripted/scripted.ts";
import { type Dialect, saidWithoutIds } from "../dialect.ts";
import { byWire, type DialectName, dialects, withoutThoughts, withResults } from "../dialects.ts";
import { fetchFromFront } from "../front-fetch.ts";
import { everyThird, guarded } from "../providers/guarded.ts";
import { toy } from "../toy/dialect/provider.ts";
import { fetchFrom, ToyFront, ToyRefusal } from "../toy/front.ts";

/** A provider that tells how often it was asked. */
type ThinkingProvider = Provider & { readonly requests: readonly unknown[] };

/** A model in a dialect whose answer follows from what it reads, and from nothing else; now and then it is busy when it reads that first. */
const thinkingProviders: Readonly<Record<DialectName, (seed: number) => ThinkingProvider>> = {
  responses: (seed) => thinkingResponses(seed, (context) => context),
  chat: (seed) =>
    atFront({ seed }, createChatFront({ chat: "vllm", seed: "thinking" }), (fetch) =>
      chatCompletions({ model: "thinking", dialect: "vllm", transport: "json", fetch }),
    ),
  anthropic: (seed) =>
    atFront({ seed }, createMessagesFront({ seed: "thinking" }), (fetch) =>
      anthropic({ model: "claude-opus-4-5", apiKey: "sk-ant-thinking", baseURL, transport: "json", fetch }),
    ),
  "anthropic-threads": (seed) =>
    atFront({ seed, says: withoutThoughts }, createMessagesFront({ seed: "thinking" }), (fetch) =>
      anthropic({
        ...{ model: "claude-opus-4-5", apiKey: "sk-ant-thinking", baseURL, threads: true, transport: "json", fetch },
      }),
    ),
  google: (seed) =>
    atFront({ seed }, createGoogleFront({ seed: "thinking" }), (fetch) =>
      googleGemini({ model: "thinking", apiKey: "thinking", baseURL, transport: "json", fetch }),
    ),
  "google-interactions": (seed) =>
    atFront({ seed }, createInteractionsFront({ seed: "thinking" }), (fetch) =>
      googleInteractions({
        ...{ model: "thinking", apiKey: "AIza-of-nobody", baseURL, store: true, transport: "json", fetch },
      }),
    ),
  // A failure of the CLI has an unknown outcome, so it is not asked again.
  "claude-cli": (seed) =>
    atFront(
      { seed, says: withResults, isEverBusy: false },
      createClaudeCliFront({ seed: "thinking" }),
      cliWithoutProcess,
    ),
  ollama: (seed) =>
    atFront({ seed }, createOllamaFront({ seed: "thinking", now: () => 0 }), (fetch) =>
      ollama({ model: "thinking", baseURL, transport: "json", fetch }),
    ),
  "ai-sdk": (seed) =>
    atFront({ seed }, createAiSdkFront({ seed: "thinking", now: () => 0 }), (fetch) =>
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

function thinkingResponses(
  seed: number,
  read: (context: readonly JsonObject[]) => readonly JsonObject[],
): ThinkingProvider {
  const think = createThinker(seed);
  return scripted(
    ({ context }): ScriptedHere => {
      const reading = JSON.stringify(read(context).map(({ id: _, status: __, ...rest }) => rest));
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
}

/** Calls by their places: the ids of another wire's follow from which of its requests was answered. */
function withoutCallIds(context: readonly JsonObject[]): readonly JsonObject[] {
  const places = new Map<JsonValue, number>();
  return context.map((item) => {
    const { call_id: id } = item;
    if (id === undefined) return item;
    const place = places.get(id) ?? places.size;
    places.set(id, place);
    return { ...item, call_id: place };
  });
}

type Thinker = {
  readonly seed: number;
  readonly says?: (answer: ScriptedAnswer) => ScriptedAnswer;
  readonly isEverBusy?: boolean;
};

/** A model behind a front of the reference server. */
function atFront(
  thinker: Thinker,
  front: Front,
  create: (fetch: typeof globalThis.fetch) => Provider,
): ThinkingProvider {
  const { seed, says = (answer: ScriptedAnswer) => answer, isEverBusy = true } = thinker;
  const think = createThinker(seed, isEverBusy);
  const { fetch, requests } = fetchFromFront(front, (reading) => {
    const results = reading.items.filter(({ type }) => type === "function_call_output").length;
    const thought = think(readItems(reading.items, reading).join("\n"), results);
    if (!("error" in thought)) return says(saidIn(thought));
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

/** What the program prints, asked of its server at once. */
function cliWithoutProcess(fetch: typeof globalThis.fetch): Provider {
  const infer: Provider["infer"] = async ({ bodyText }) => {
    const printed = await (await fetch(`${baseURL}/claude-cli`, { method: "POST", body: bodyText })).text();
    const lines = printed
      .split("\n")
      .filter((line) => line.startsWith("{"))
      .map((line) => z.record(z.string(), z.json()).parse(JSON.parse(line)));
    const isAnswered = lines.some((line) => line["type"] === "result" && line["is_error"] === false);
    if (isAnswered) return { response: { lines } };
    const isLost = printed.includes("No conversation found");
    throw new ProviderError(printed, {
      ...(isLost ? { kind: "lost-state", outcome: "rejected" } : { kind: "server-error", outcome: "unknown" }),
    });
  };
  return { ...claudeCli({ model: "thinking" }), infer };
}

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

/** A number that a text stands for. */
export const numberOf = (text: string): number => Number.parseInt(sha256Hex(text).slice(0, 8), 16);

const maxResults = 5;

function createThinker(seed: number, isEverBusy = true): (reading: string, results: number) => Thought {
  const wasBusy = new Set<string>();
  return (reading, results) => {
    const name = sha256Hex(`${seed} ${reading}`);
    const dice = numberOf(name);
    if (dice % 17 === 0) return { error: { message: `refused ${name.slice(0, 6)}` } };
    if (isEverBusy && dice % 4 === 1 && !wasBusy.has(name)) {
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

/** Who thinks, as an engine asks: on one wire, or on two between which a router chooses. */
export type Thinking = {
  readonly asked: Pick<EngineConfig, "provider" | "otherProviders" | "route">;
  readonly codecs: readonly Codec[];
  readonly essence: Dialect["essence"];
  readonly hasOwnTools: boolean;
  readonly requests: readonly (readonly unknown[])[];
};

/** Wires on which a drawn engine thinks; `routed` is two of them, and `guarded` two within wrappers that keep state. */
export type ThinkingName = DialectName | "routed" | "guarded";

export const byThinking = <T>(cases: readonly T[]): readonly (readonly [ThinkingName, readonly T[]])[] => [
  ...byWire(cases),
  ["routed", cases.slice(0, Math.ceil(cases.length / 4))],
  ["guarded", cases.slice(0, Math.ceil(cases.length / 4))],
];

export function thinkingOn(name: ThinkingName, seed: number): Thinking {
  if (name === "routed") return routedThinking(seed);
  if (name === "guarded") return guardedThinking(seed);
  const dialect: Dialect = dialects[name];
  const { codecs, essence, hasOwnTools = false } = dialect;
  const provider = thinkingProviders[name](seed);
  return { asked: { provider }, codecs, essence, hasOwnTools, requests: [provider.requests] };
}

const pairs: readonly (readonly [DialectName, DialectName])[] = [
  ["responses", "chat"],
  ["google-interactions", "responses"],
  ["anthropic-threads", "ollama"],
  ["google", "anthropic"],
];

/** The Turn says who answers; where that one fails for good, the other does. */
function routedThinking(seed: number): Thinking {
  const [first, second] = pairs[seed % pairs.length] ?? ["responses", "chat"];
  const thinking = (name: DialectName): ThinkingProvider =>
    name === "responses" ? thinkingResponses(seed, withoutCallIds) : thinkingProviders[name](seed);
  const [provider, other] = [thinking(first), thinking(second)];
  const route: Route = ({ turn, failed }) => {
    const chosen = numberOf(saidWithoutIds(turn)) % 2 === 0 ? provider : other;
    if (!failed.some((each) => each.provider === chosen)) return chosen;
    return chosen === provider ? other : provider;
  };
  return {
    ...{ asked: { provider, otherProviders: { other }, route }, hasOwnTools: false, essence: saidWithoutIds },
    codecs: [...dialects[first].codecs, ...dialects[second].codecs],
    requests: [provider.requests, other.requests],
  };
}

/** The first provider answers; where it fails for good, the other does. Each process has wrappers of its own, whose state begins anew. */
function guardedThinking(seed: number): Thinking {
  const { asked, ...thinking } = routedThinking(seed);
  const { provider: first, otherProviders: { other: second = first } = {} } = asked;
  return {
    ...thinking,
    get asked() {
      const [provider, other] = [guarded(first, everyThird()), guarded(second, everyThird())];
      return { provider, otherProviders: { other }, route: fallback([provider, other]) };
    },
  };
}
