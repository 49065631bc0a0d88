import { join } from "node:path";
import * as z from "zod";
import { languageModel } from "../../packages/reference-server/src/ai-sdk/language-model.ts";
import {
  claudeCliStandIn,
  type Expected,
  hosted,
  type ScriptedAnswer,
} from "../../packages/reference-server/src/server.ts";
import { omitMembers } from "../../src/base/json.ts";
import { aiSdk } from "../../src/providers/ai-sdk/ai-sdk.ts";
import { aiSdkCodec } from "../../src/providers/ai-sdk/ai-sdk-codec.ts";
import { anthropic } from "../../src/providers/anthropic/anthropic.ts";
import { messagesCodec } from "../../src/providers/anthropic/messages-codec.ts";
import { chatCodecs } from "../../src/providers/chat/chat-codec.ts";
import { chatCompletions } from "../../src/providers/chat/chat-completions.ts";
import type { ChatDialectName } from "../../src/providers/chat/chat-dialects.ts";
import { claudeCli } from "../../src/providers/claude-cli/claude-cli.ts";
import { claudeCliCodec } from "../../src/providers/claude-cli/claude-cli-codec.ts";
import { geminiCodec } from "../../src/providers/google/gemini-codec.ts";
import { googleGemini } from "../../src/providers/google/google-gemini.ts";
import { googleInteractions } from "../../src/providers/google/google-interactions.ts";
import { interactionsCodec } from "../../src/providers/google/interactions-codec.ts";
import { ollama } from "../../src/providers/ollama/ollama.ts";
import { ollamaCodec } from "../../src/providers/ollama/ollama-codec.ts";
import { openaiResponses } from "../../src/providers/responses/openai-responses.ts";
import { responsesCodec } from "../../src/providers/responses/responses-codec.ts";
import type { Entry } from "../../src/testing/rehearsal/entries.ts";
import type { Expected as Told } from "../../src/testing/rehearsal/expected.ts";
import type { RehearsalProvider } from "../../src/testing/rehearsal/ports.ts";
import { takesParts } from "../../src/testing/rehearsal/read-otherwise.ts";
import { rehearsedProviders } from "../../src/testing/rehearsal/rehearsed-providers.ts";
import { isLong } from "./cases.ts";
import { type Dialect, equalContents, referenceDialect, saidWithoutIds } from "./dialect.ts";
import { toyCodec } from "./toy/dialect/codec.ts";
import { toy } from "./toy/dialect/provider.ts";
import { serveToy, ToyFront, toolRead } from "./toy/front.ts";

/** A model says texts and refusals, everybody else anything but refusals. */
export const takenByResponses = takesParts(({ type }, role) =>
  role === "assistant" ? type === "text" || type === "refusal" : type !== "refusal",
);

/** A message with anything but texts, or images of the user, is not sent. */
const takenByToy = (entry: Entry): Entry | null =>
  entry.kind !== "message" ||
  entry.parts.every(({ type }) => type === "text" || (type === "image" && entry.role === "user"))
    ? entry
    : null;

const responses = referenceDialect({
  codecs: [responsesCodec],
  ...{ hasIds: true, hasPhases: true, resultsStandTogether: false, hasHosted: true },
  modes: ["chained", "chained", "chained", "chained", "auto", "stateless", "conversation", "conversation"],
  transports: [...Array.from({ length: 7 }, () => "json" as const), "sse", "websocket", "websocket"],
  provider: (baseURL, asked) => openaiResponses({ apiKey: "sk-dialect", baseURL, ...asked }),
  essence: equalContents,
  takes: takenByResponses,
  toolRead: (tool) => toolRead({ type: "function", ...tool, strict: false }),
});

/** What wires without ids of items have in common: whole requests, and one way or the other of an answer. */
const wholeRequests = {
  ...{ hasIds: false, hasPhases: false, resultsStandTogether: true, hasHosted: false },
  modes: ["auto", "stateless"],
  transports: ["json", "json", "json", "sse"],
} as const satisfies Partial<Dialect>;

/** What a wire takes, and what the model reads on it, as rehearsals have it. */
function heardOn(name: RehearsalProvider) {
  const { reads = (each: Told) => each, readsAll = (all: readonly Told[]) => all } = rehearsedProviders[name];
  const { takes = (each: Entry) => each } = rehearsedProviders[name];
  return {
    takes,
    reads: (said: readonly Told[]): readonly Told[] => readsAll(said).flatMap((each) => reads(each) ?? []),
  };
}

const ofFunction = (tool: { readonly name: string }): Expected => toolRead({ type: "function", ...tool });

/** Chat Completions as one of its servers speaks it. */
export function chatOn(dialect: ChatDialectName, rehearsed: RehearsalProvider): Dialect {
  return referenceDialect(
    {
      ...wholeRequests,
      codecs: [chatCodecs[dialect]],
      provider: (baseURL, { systemAs = "input", transport, store: _, ...asked }) => ({
        ...chatCompletions({
          ...{ apiKey: "sk-dialect", ...asked, baseURL, dialect, transport: transport === "sse" ? "sse" : "json" },
        }),
        systemAs,
      }),
      ...(rehearsedProviders[rehearsed].showsReasoning === false ? { says: withoutThoughts } : {}),
      ...heardOn(rehearsed),
      toolRead: ofFunction,
    },
    { chat: dialect },
  );
}

const chat = chatOn("vllm", "chat");

/** All that speak Chat Completions. */
export const chatServers: readonly [Dialect, ...Dialect[]] = [
  chat,
  ...(["openai", "deepseek", "mistral", "groq", "llama.cpp", "ollama"] as const).map((dialect) =>
    chatOn(dialect, `chat-${dialect}`),
  ),
];

const messagesWire = (reasoningPrefix: "ignore" | "refuse") => ({
  ...wholeRequests,
  codecs: [messagesCodec],
  provider: ((baseUrl, { transport, store: _, ...asked }) =>
    anthropic({
      ...{ ...asked, apiKey: "sk-ant-dialect", baseURL: baseUrl.replace(/\/v1$/, "") },
      ...{ transport: transport === "sse" ? "sse" : "json", capabilities: { reasoningPrefix } },
    })) satisfies Dialect["provider"],
  ...heardOn("anthropic"),
  toolRead,
});

// The front looks at the seal of a thought, not at what comes before it.
const anthropicDialect = referenceDialect(messagesWire("ignore"));

/** A server that refuses thoughts behind anything but what they were made from. */
export const bindingDialect = referenceDialect(
  { ...messagesWire("refuse"), leavesReasoning: true },
  { checksReasoning: "refuses" },
);

/** What wires have in common whose servers keep what they answered. */
const kept = { ...wholeRequests, modes: ["chained", "chained", "chained", "chained", "auto", "stateless"] } as const;

const anthropicThreads = referenceDialect({
  ...kept,
  codecs: [messagesCodec],
  provider: (baseUrl, { transport, store: _, ...asked }) =>
    anthropic({
      ...{ ...asked, apiKey: "sk-ant-dialect", baseURL: baseUrl.replace(/\/v1$/, ""), threads: true },
      transport: transport === "sse" ? "sse" : "json",
    }),
  says: withoutThoughts,
  ...heardOn("anthropic-threads"),
  toolRead,
});

/** Threads refuse thinking. */
export function withoutThoughts(said: ScriptedAnswer): ScriptedAnswer {
  return { ...said, output: said.output.filter(({ item }) => item["type"] !== "reasoning") };
}

const googleKept = referenceDialect({
  ...kept,
  codecs: [interactionsCodec],
  systemStandsFirst: true,
  provider: (baseURL, { model, instructions, transport }) =>
    googleInteractions({
      ...{ model, apiKey: "AIza-of-nobody", baseURL, store: true, transport: transport === "sse" ? "sse" : "json" },
      ...(instructions === undefined ? {} : { instructions }),
    }),
  ...heardOn("google-interactions"),
  toolRead,
});

/** One program for tests and for the programs that they start, because sessions are kept by the command that made them. */
const standIn = join(import.meta.dirname, "../../packages/reference-server/src/claude-cli/stand-in.ts");

const claudeCliDialect = referenceDialect({
  ...{ ...kept, resultsStandTogether: false, hasOwnTools: true },
  transports: ["json"],
  codecs: [claudeCliCodec],
  provider: (baseUrl, { model, instructions }) =>
    claudeCli({
      ...{ model, ...(instructions === undefined ? {} : { instructions }), ...claudeCliStandIn(baseUrl) },
      command: [process.execPath, standIn],
    }),
  says: withResults,
  ...heardOn("claude-cli"),
  toolRead,
});

/** The calls of an agent are run by itself: each comes with what it gave. */
export function withResults(said: ScriptedAnswer): ScriptedAnswer {
  const output = said.output.flatMap((scripted) => {
    const { type, call_id: id = "", arguments: given = "" } = scripted.item;
    if (type !== "function_call") return [scripted];
    return [scripted, hosted({ type: "function_call_output", call_id: id, output: given })];
  });
  return { ...said, output };
}

const google = referenceDialect({
  ...wholeRequests,
  codecs: [geminiCodec],
  systemStandsFirst: true,
  provider: (baseURL, { model, instructions, transport }) =>
    googleGemini({
      ...{ model, apiKey: "dialect", baseURL, transport: transport === "sse" ? "sse" : "json" },
      ...(instructions === undefined ? {} : { instructions }),
    }),
  ...heardOn("google"),
  toolRead,
});

const ollamaDialect = referenceDialect({
  ...wholeRequests,
  codecs: [ollamaCodec],
  provider: (baseUrl, { systemAs = "input", transport, store: _, ...asked }) => ({
    ...ollama({
      ...{ ...asked, apiKey: "", baseURL: baseUrl.replace(/\/v1$/, "") },
      transport: transport === "sse" ? "ndjson" : "json",
    }),
    systemAs,
  }),
  ...heardOn("ollama"),
  toolRead: ofFunction,
});

const aiSdkDialect = referenceDialect({
  ...wholeRequests,
  codecs: [aiSdkCodec],
  provider: (baseUrl, { systemAs = "input", transport, instructions }) => ({
    ...aiSdk({
      ...{ model: languageModel(baseUrl), ...(instructions === undefined ? {} : { instructions }) },
      transport: transport === "sse" ? "sse" : "json",
    }),
    systemAs,
  }),
  // The model has its own name, and is told how to answer by the method that is called.
  told: (bodyText) => {
    const body = z.record(z.string(), z.json()).parse(JSON.parse(bodyText));
    return JSON.stringify(omitMembers(body, new Set(["model", "stream"])));
  },
  ...heardOn("ai-sdk"),
  toolRead: ofFunction,
});

const toyDialect: Dialect = {
  codecs: [toyCodec],
  ...{ hasIds: false, hasPhases: false, resultsStandTogether: true, hasHosted: true },
  modes: ["auto", "stateless"],
  transports: ["json"],
  async start(answer) {
    const front = new ToyFront((question) => answer(() => question));
    const served = await serveToy(front);
    return {
      url: served.url,
      requests: front.requests,
      lines: (index) => front.reading(index),
      responseIds: () => [],
      forget: () => undefined,
      inject: (...faults) => void front.faults.push(...faults),
      cut: () => undefined,
      clear() {
        front.clear();
      },
      [Symbol.asyncDispose]: () => served[Symbol.asyncDispose](),
    };
  },
  provider: (url, { model, instructions, systemAs = "input" }) =>
    toy(url, { settings: { model, ...(instructions === undefined ? {} : { instructions }) }, systemAs }),
  essence: saidWithoutIds,
  takes: takenByToy,
  toolRead,
};

/** Every suite that takes a wire is played on these. */
export const dialects = {
  ...{ responses, chat, toy: toyDialect, anthropic: anthropicDialect, "anthropic-threads": anthropicThreads, google },
  ...{ "google-interactions": googleKept, ollama: ollamaDialect, "ai-sdk": aiSdkDialect },
  "claude-cli": claudeCliDialect,
} as const;
export const dialectNames = [
  ...(["responses", "chat", "toy", "anthropic", "anthropic-threads", "google"] as const),
  ...(["google-interactions", "ollama", "ai-sdk", "claude-cli"] as const),
] as const;
export type DialectName = (typeof dialectNames)[number];

/** The cases that each wire gets: all on that of the Responses API; on the others some, and in the long form many. */
export const byWire = <T>(cases: readonly T[]): readonly (readonly [DialectName, readonly T[]])[] =>
  dialectNames.map((name) => [name, cases.slice(0, Math.ceil(cases.length * shareOf(name)))]);

function shareOf(name: DialectName): number {
  if (name === "responses") return 1;
  // Each of its requests is a process.
  if (name === "claude-cli") return 1 / 40;
  return isLong || name === "chat" || name === "toy" ? 1 / 4 : 1 / 10;
}
