import { languageModel } from "../../../packages/reference-server/src/ai-sdk/language-model.ts";
import {
  type CacheFront,
  type CacheOptions,
  type ReferenceServer,
  type ReferenceServerOptions,
  startReferenceServer,
} from "../../../packages/reference-server/src/server.ts";
import type { OwnCacheRules } from "../../../src/analysis/explain/why-options.ts";
import type { Conversation } from "../../../src/conversation/conversation.ts";
import type { Provider } from "../../../src/engine/ports/provider.ts";
import type { EventStore } from "../../../src/log/ports/event-store.ts";
import { aiSdk } from "../../../src/providers/ai-sdk/ai-sdk.ts";
import { anthropic } from "../../../src/providers/anthropic/anthropic.ts";
import { chatCompletions } from "../../../src/providers/chat/chat-completions.ts";
import { googleGemini } from "../../../src/providers/google/google-gemini.ts";
import { googleInteractions } from "../../../src/providers/google/google-interactions.ts";
import { ollama } from "../../../src/providers/ollama/ollama.ts";
import { openaiResponses } from "../../../src/providers/responses/openai-responses.ts";
import { createWorkshop, type Workshop } from "../workshop.ts";

type ProviderOptions = { readonly model: string; readonly instructions?: string };

/** A wire with a prompt cache: its front, and a provider for it. */
export type CachedProvider = {
  readonly front: CacheFront;
  readonly provider: (url: string, options: ProviderOptions) => Provider;
  /** Whether requests name the model. */
  readonly hasModel: boolean;
};

const apiKey = "none";
const diagnosed = { cacheDiagnostics: true };

export const cachedProviders = {
  responses: {
    ...{ front: "responses", hasModel: true },
    provider: (url, options) =>
      openaiResponses({ ...options, ...diagnosed, apiKey, baseURL: `${url}/v1`, transport: "json" }),
  },
  chat: {
    ...{ front: "chat", hasModel: true },
    provider: (url, options) =>
      chatCompletions({
        ...{ ...options, apiKey, baseURL: `${url}/v1`, dialect: "openai", transport: "json" },
        cacheBreakpoints: true,
      }),
  },
  messages: {
    ...{ front: "messages", hasModel: true },
    provider: (url, options) =>
      anthropic({ ...options, ...diagnosed, apiKey, baseURL: url, cache: true, transport: "json" }),
  },
  gemini: {
    ...{ front: "gemini", hasModel: true },
    provider: (url, options) => googleGemini({ ...options, apiKey, baseURL: `${url}/v1beta`, transport: "json" }),
  },
  interactions: {
    ...{ front: "interactions", hasModel: true },
    provider: (url, options) =>
      googleInteractions({ ...options, apiKey: "AIza-of-nobody", baseURL: `${url}/v1beta`, transport: "json" }),
  },
  ollama: {
    ...{ front: "ollama", hasModel: true },
    provider: (url, options) => ollama({ ...options, baseURL: url, transport: "json" }),
  },
  "ai-sdk": {
    ...{ front: "ai-sdk", hasModel: false },
    provider: (url, { instructions }) =>
      aiSdk({
        ...{ model: languageModel(`${url}/v1`), transport: "json" },
        ...(instructions === undefined ? {} : { instructions }),
      }),
  },
} as const satisfies Record<string, CachedProvider>;

export const minute = 60_000;

/** A server with a prompt cache, a store beside it on the same clock, and rules that both know. */
export type CachedWorld = Workshop & {
  readonly server: ReferenceServer;
  readonly rules: OwnCacheRules;
  readonly talk: Conversation;
};

/** Both sides know the same rules: every token counts. */
const plain: CacheOptions = { minimumTokens: 0, stepTokens: 1, lookback: 20 };

export async function cachedWorld(
  { front }: CachedProvider,
  options: {
    readonly facts?: CacheOptions;
    readonly lifetimeMs?: number;
    readonly events?: EventStore;
    readonly answer?: ReferenceServerOptions["answer"];
  } = {},
): Promise<CachedWorld & AsyncDisposable> {
  const workshop = createWorkshop(options.events === undefined ? {} : { events: options.events });
  const { facts = {}, lifetimeMs = 5 * minute, answer } = options;
  const boundaries = front === "messages" ? "breakpoints" : "every-unit";
  const lifetimesMs = { default: lifetimeMs, "5m": lifetimeMs };
  const shared = { ...plain, boundaries, ...facts } as const;
  const server = await startReferenceServer({
    ...{ seed: "why", now: () => workshop.clock.now, ...(answer === undefined ? {} : { answer }) },
    caches: { [front]: { lifetimesMs, ...shared } },
  });
  const bounds = { leastMs: lifetimeMs, mostMs: lifetimeMs };
  const { minimumTokens = 0, stepTokens = 1, lookback = 20 } = shared;
  const rules = {
    minimumTokens,
    stepTokens,
    lookback,
    boundaries,
    lifetimes: { default: bounds, "5m": bounds },
  } as const;
  return {
    ...{ ...workshop, server, rules, talk: workshop.conversation },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}
