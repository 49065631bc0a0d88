import type { Mode } from "../engine/stack/chain-policy.ts";
import type { Provider } from "../engine/stack/provider.ts";
import { aiSdk } from "../providers/ai-sdk/ai-sdk.ts";
import { anthropic } from "../providers/anthropic/anthropic.ts";
import { chatCompletions } from "../providers/chat/chat-completions.ts";
import type { ChatDialectName } from "../providers/chat/chat-dialects.ts";
import { claudeCli } from "../providers/claude-cli/claude-cli.ts";
import { googleGemini } from "../providers/google/google-gemini.ts";
import { googleInteractions } from "../providers/google/google-interactions.ts";
import { ollama } from "../providers/ollama/ollama.ts";
import { openaiResponses } from "../providers/responses/openai-responses.ts";
import { languageModel } from "../reference-server/ai-sdk/language-model.ts";
import { claudeCliStandIn, type JudgeOptions, type ReferenceServerOptions } from "../reference-server/server.ts";
import type { Entry } from "./entries.ts";
import { type Expected, instructionsIn } from "./expected.ts";
import { type RehearsalProvider, type RehearsalTransport, rehearsalProviders } from "./ports.ts";
import { readAsChat, readAsMessages } from "./read-as-messages.ts";
import { readByGemini, readByInteractions } from "./read-by-gemini.ts";

/** A dialect as rehearsals play it. */
export type RehearsedProvider = {
  /** How the reference server differs. */
  readonly server?: Partial<ReferenceServerOptions>;
  /** A provider that speaks to the reference server at this address, which ends with `/v1`. */
  readonly provider: (baseUrl: string, transport: RehearsalTransport) => Provider;
  /** The mode that it is played in unless told otherwise; `chained` when absent. */
  readonly mode?: Mode;
  /** False where the server shows no reasoning: none is added to the answers. */
  readonly showsReasoning?: false;
  /** What the model reads of a thing in this dialect; null: nothing. Absent, it reads everything as it was said. */
  readonly reads?: (expected: Expected) => Expected | null;
  /** The same of all that it reads, where one thing is not read by itself. */
  readonly readsAll?: (expected: readonly Expected[]) => readonly Expected[];
  /** What is on record of a thing that the model answered, for those who read it later; as it was said when absent. */
  readonly records?: (answered: Entry) => Entry;
  /** Whether the provider goes over WebSocket too. */
  readonly hasWebSocket?: true;
  /** The model runs its tools by itself. */
  readonly hasOwnTools?: true;
  /** How strictly reasoning is held; exactly when absent. */
  readonly judging?: JudgeOptions;
};

/** Every provider that a rehearsal can be played with: one line each. */
export const rehearsedProviders: Readonly<Record<RehearsalProvider, RehearsedProvider>> = {
  responses: { provider: responses, hasWebSocket: true },
  chat: chat("vllm"),
  "chat-openai": { ...chat("openai"), showsReasoning: false, reads: (expected) => expected },
  "chat-deepseek": chat("deepseek"),
  // Thoughts are parts of a message there, each by itself.
  "chat-mistral": { ...chat("mistral"), readsAll: (all) => readAsChat(all, { joinsThoughts: false }) },
  "chat-groq": {
    ...chat("groq"),
    reads: (expected) => (expected.kind === "reasoning" ? null : withoutDeveloper(expected)),
  },
  "chat-llama.cpp": chat("llama.cpp"),
  "chat-ollama": chat("ollama"),
  "ai-sdk": {
    ...{ mode: "stateless", reads: (expected) => withParsedArguments(withoutDeveloper(expected)) },
    provider: (baseUrl, transport) =>
      aiSdk({ model: languageModel(baseUrl), transport: transport === "json" ? "json" : "sse" }),
  },
  ollama: { mode: "stateless", provider: ollamaAt, readsAll: readAsMessages, records: recordedAsObject },
  google: {
    mode: "stateless",
    provider: (baseURL, transport) =>
      googleGemini({
        ...{ model: "gemini-3-rehearsal", apiKey: "rehearsal", baseURL },
        transport: transport === "json" ? "json" : "sse",
      }),
    readsAll: readByGemini,
    records: recordedAsObject,
  },
  "google-interactions": {
    provider: (baseURL, transport) =>
      googleInteractions({
        // Answers name the model: a key within that name would be masked there, and nothing be continued.
        ...{ model: "gemini-3-rehearsal", apiKey: "AIza-of-nobody", baseURL, store: true },
        transport: transport === "json" ? "json" : "sse",
      }),
    readsAll: readByInteractions,
    records: recordedAsObject,
  },
  anthropic: {
    server: { checksReasoning: "refuses" },
    mode: "stateless",
    provider: anthropicAt,
    readsAll: readAsMessagesApi,
    records: recordedAsObject,
    // What is behind an edit is left out, and the server refuses it.
    judging: { reasoning: "subset" },
  },
  "claude-cli": {
    provider: (baseUrl) => claudeCli({ model: "rehearsal", ...claudeCliStandIn(baseUrl) }),
    readsAll: readByClaudeCli,
    records: recordedAsObject,
    hasOwnTools: true,
    // A session has its own reasoning, and none that came before it.
    judging: { reasoning: "subset" },
  },
  // Threads refuse thinking.
  "anthropic-threads": {
    showsReasoning: false,
    provider: (baseUrl, transport) => anthropicAt(baseUrl, transport, { threads: true }),
    records: recordedAsObject,
    readsAll: readAsMessagesApi,
  },
};

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
  return anthropic({ ...asked, ...options, baseURL, transport: transport === "json" ? "json" : "sse" });
}

/**
 * A system message behind the beginning is a text of the user in tags, which every model of the Messages API takes; behind the words
 * of the model, and where nobody else speaks, the user has to say something.
 */
function readAsMessagesApi(expected: readonly Expected[]): readonly Expected[] {
  const all = expected.map((each) => withParsedArguments(withoutDeveloper(each)));
  const leading = all.findIndex((each) => !("role" in each) || each.role !== "system");
  const said = all.map((each, place) =>
    each.kind === "text" && each.role === "system" && leading >= 0 && place > leading
      ? { ...each, role: "user" as const, text: `<system>\n${each.text}\n</system>` }
      : each,
  );
  const last = said.at(-1);
  const isModels = leading < 0 || last?.kind === "reasoning" || (last?.kind === "text" && last.role === "assistant");
  return isModels ? [...said, { kind: "text", role: "user", text: "Continue." }] : said;
}

/** Leading system messages are one text that is added to the system prompt of the CLI; arguments are values. */
function readByClaudeCli(expected: readonly Expected[]): readonly Expected[] {
  const { texts, rest } = instructionsIn(expected);
  const system = texts.length === 0 ? [] : [{ kind: "text", role: "system", text: texts.join("\n\n") } as const];
  return [...system, ...rest.map(withParsedArguments)];
}

function chat(dialect: ChatDialectName): RehearsedProvider {
  return {
    ...{ server: { chat: dialect }, mode: "stateless" },
    provider: (baseURL, transport) =>
      chatCompletions({ ...asked, baseURL, dialect, transport: transport === "json" ? "json" : "sse" }),
    ...{ reads: withoutDeveloper, readsAll: readAsChat },
  };
}

/** Only OpenAI has developers: for others they are the system. */
function withoutDeveloper(expected: Expected): Expected {
  return "role" in expected && expected.role === "developer" ? { ...expected, role: "system" } : expected;
}

/** Where arguments are a JSON value and no text, the log has how they would be written again. */
function recordedAsObject(answered: Entry): Entry {
  return answered.kind === "call"
    ? { ...answered, arguments: JSON.stringify(JSON.parse(answered.arguments)) }
    : answered;
}

/** Where arguments are a JSON value and no text, the model reads how they would be written again. */
function withParsedArguments(expected: Expected): Expected {
  return expected.kind === "call"
    ? { ...expected, arguments: JSON.stringify(JSON.parse(expected.arguments)) }
    : expected;
}

/**
 * Those between which a rehearsal hands conversations over. A model that runs its tools by itself cuts them into other exchanges;
 * the server of message threads is given reasoning to say, which its table does not expect.
 */
export const handedBetween: readonly RehearsalProvider[] = rehearsalProviders.filter(
  (name) => rehearsedProviders[name].hasOwnTools !== true && name !== "anthropic-threads",
);
