import { languageModel } from "@turnlog/reference-server/ai-sdk/language-model";
import { claudeCliStandIn, type JudgeOptions, type ReferenceServerOptions } from "@turnlog/reference-server/server";
import type { Mode } from "../../engine/options/chain-policy.ts";
import type { Provider } from "../../engine/ports/provider.ts";
import { aiSdk } from "../../providers/ai-sdk/ai-sdk.ts";
import { anthropic } from "../../providers/anthropic/anthropic.ts";
import { chatCompletions } from "../../providers/chat/chat-completions.ts";
import { type ChatDialect, type ChatDialectName, chatDialects } from "../../providers/chat/chat-dialects.ts";
import { claudeCli } from "../../providers/claude-cli/claude-cli.ts";
import { googleGemini } from "../../providers/google/google-gemini.ts";
import { googleInteractions } from "../../providers/google/google-interactions.ts";
import { ollama } from "../../providers/ollama/ollama.ts";
import { openaiResponses } from "../../providers/responses/openai-responses.ts";
import type { Expected } from "./expected.ts";
import { type PlayerTraits, type RehearsalProvider, type RehearsalTransport, rehearsalProviders } from "./ports.ts";
import { readAsChat, readAsMessages } from "./read-as-messages.ts";
import { readAsMessagesApi, readByClaudeCli, takenByClaudeCli, takenByMessagesApi } from "./read-by-claude.ts";
import { readByGemini, readByInteractions, takenByGoogle } from "./read-by-gemini.ts";
import {
  isElsewhere,
  isInline,
  readByAiSdk,
  recordedAsMessage,
  recordedAsObject,
  recordedAsTexts,
  refusalAsText,
  takesParts,
  textsOf,
  withoutDeveloper,
} from "./read-otherwise.ts";

/** How rehearsals play a dialect. */
export type RehearsedProvider = PlayerTraits & {
  /** Different options for the reference server. */
  readonly server?: Partial<ReferenceServerOptions>;
  /** A provider for the reference server at this address, which ends with `/v1`. */
  readonly provider: (baseUrl: string, transport: RehearsalTransport) => Provider;
  /** The default mode. Default: `chained`. */
  readonly mode?: Mode;
  /** The provider to play instead if requests should continue, for a dialect that continues only if its server stores something. */
  readonly chainedAs?: RehearsalProvider;
  /** Why its server shows no reasoning, if it shows some elsewhere. */
  readonly whyNoReasoning?: string;
  /** What the model reads of one entry in this dialect; null: nothing. Default: everything as it was said. */
  readonly reads?: (expected: Expected) => Expected | null;
  /** The same for all entries, if they cannot be read one by one. */
  readonly readsAll?: (expected: readonly Expected[]) => readonly Expected[];
  /** Whether the provider also supports WebSocket. */
  readonly hasWebSocket?: true;
  /** How strictly reasoning is judged. Default: exactly. */
  readonly judging?: JudgeOptions;
};

/** The Messages API, with or without threads. */
const messages = { readsAll: readAsMessagesApi, takes: takenByMessagesApi, records: recordedAsTexts } as const;

/** All providers for rehearsals. */
export const rehearsedProviders: Readonly<Record<RehearsalProvider, RehearsedProvider>> = {
  responses: { provider: responses, hasWebSocket: true },
  chat: chat("vllm"),
  "chat-openai": { ...chat("openai"), showsReasoning: false, reads: (expected) => expected },
  "chat-deepseek": chat("deepseek"),
  // Here reasoning is made of separate parts of a message.
  "chat-mistral": { ...chat("mistral"), readsAll: (all) => readAsChat(all, { joinsThoughts: false }) },
  "chat-groq": {
    ...chat("groq"),
    reads: (expected) => (expected.kind === "reasoning" ? null : withoutDeveloper(expected)),
  },
  "chat-llama.cpp": chat("llama.cpp"),
  "chat-ollama": chat("ollama"),
  "ai-sdk": {
    ...{ mode: "stateless", reads: readByAiSdk, records: (answered) => textsOf(refusalAsText(answered)) },
    takes: takesParts(
      (part, role) => part.type === "text" || (role === "user" && part.type !== "refusal" && !isElsewhere(part)),
    ),
    provider: (baseUrl, transport) => aiSdk({ model: languageModel(baseUrl), transport: overHttp(transport) }),
  },
  ollama: {
    ...{ mode: "stateless", provider: ollamaAt, readsAll: readAsMessages, records: recordedAsMessage },
    takes: takesParts(({ type, ...part }, role) =>
      type === "image" ? role === "user" && "source" in part && isInline(part.source) : type === "text",
    ),
  },
  google: {
    mode: "stateless",
    provider: (baseURL, transport) =>
      googleGemini({
        ...{ model: "gemini-3-rehearsal", apiKey: "rehearsal", baseURL },
        transport: overHttp(transport),
      }),
    readsAll: readByGemini,
    ...{ takes: takenByGoogle, records: recordedAsTexts },
  },
  "google-interactions": {
    provider: (baseURL, transport) =>
      googleInteractions({
        // Answers contain the model's name. If it contained the key, it would be masked, and no request could continue.
        ...{ model: "gemini-3-rehearsal", apiKey: "AIza-of-nobody", baseURL, store: true },
        transport: overHttp(transport),
      }),
    readsAll: readByInteractions,
    ...{ takes: takenByGoogle, records: (answered) => recordedAsObject(refusalAsText(answered)) },
  },
  anthropic: {
    ...messages,
    chainedAs: "anthropic-threads",
    server: { checksReasoning: "refuses" },
    mode: "stateless",
    provider: anthropicAt,
    // Reasoning after an edit is omitted, because the server rejects it.
    judging: { reasoning: "subset" },
  },
  "claude-cli": {
    provider: (baseUrl) => claudeCli({ model: "rehearsal", ...claudeCliStandIn(baseUrl) }),
    readsAll: readByClaudeCli,
    ...{ takes: takenByClaudeCli, records: recordedAsTexts },
    hasOwnTools: true,
    // A session has its own reasoning, and none from before it.
    judging: { reasoning: "subset" },
  },
  "anthropic-threads": {
    ...messages,
    ...{ showsReasoning: false, whyNoReasoning: "message threads refuse thinking" },
    provider: (baseUrl, transport) => anthropicAt(baseUrl, transport, { threads: true }),
  },
};

/** Most providers use HTTP only. */
const overHttp = (transport: RehearsalTransport) => (transport === "json" ? ("json" as const) : ("sse" as const));

const asked = { model: "rehearsal", apiKey: "rehearsal" };

function responses(baseURL: string, transport: RehearsalTransport): Provider {
  return openaiResponses({ ...asked, baseURL, transport, ...(transport === "websocket" ? { store: false } : {}) });
}

function ollamaAt(baseUrl: string, transport: RehearsalTransport): Provider {
  const baseURL = baseUrl.replace(/\/v1$/, "");
  return ollama({ ...asked, baseURL, transport: transport === "json" ? "json" : "ndjson" });
}

function anthropicAt(baseUrl: string, transport: RehearsalTransport, options: { threads?: true } = {}): Provider {
  const baseURL = baseUrl.replace(/\/v1$/, "");
  return anthropic({ ...asked, ...options, baseURL, transport: overHttp(transport) });
}

/** Which of the parts with a form on the wire the servers of a dialect accept. */
function takenByChat({ lacks = [] }: ChatDialect): NonNullable<RehearsedProvider["takes"]> {
  const kinds = { image: "images", file: "files", audio: "audio" } as const;
  return takesParts(({ type }, role) => {
    if (type === "text" || type === "refusal") return type === "text" || role === "assistant";
    return role === "user" && !lacks.includes(kinds[type]);
  });
}

function chat(dialect: ChatDialectName): RehearsedProvider {
  return {
    takes: takenByChat(chatDialects[dialect]),
    ...{ server: { chat: dialect }, mode: "stateless" },
    provider: (baseURL, transport) => chatCompletions({ ...asked, baseURL, dialect, transport: overHttp(transport) }),
    ...{ reads: withoutDeveloper, readsAll: readAsChat },
  };
}

/** The providers for handovers, without models that run their own tools: those divide a conversation into other exchanges. */
export const handedBetween: readonly RehearsalProvider[] = rehearsalProviders.filter(
  (name) => rehearsedProviders[name].hasOwnTools !== true,
);
