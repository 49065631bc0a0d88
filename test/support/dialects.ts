import * as z from "zod";
import { type JsonObject, type JsonValue, omitMembers } from "../../src/base/json.ts";
import type { Turn } from "../../src/domain/turn.ts";
import type { Mode } from "../../src/engine/stack/chain-policy.ts";
import type { Codec } from "../../src/engine/stack/codec.ts";
import type { Provider } from "../../src/engine/stack/provider.ts";
import { aiSdk } from "../../src/providers/ai-sdk/ai-sdk.ts";
import { aiSdkCodec } from "../../src/providers/ai-sdk/codec.ts";
import { anthropic } from "../../src/providers/anthropic/anthropic.ts";
import { messagesCodec } from "../../src/providers/anthropic/messages-codec.ts";
import { chatCodecs } from "../../src/providers/chat/chat-codec.ts";
import { chatCompletions } from "../../src/providers/chat/chat-completions.ts";
import { geminiContents } from "../../src/providers/google/gemini-codec.ts";
import { googleGemini } from "../../src/providers/google/google-gemini.ts";
import { ollama } from "../../src/providers/ollama/ollama.ts";
import { ollamaCodec } from "../../src/providers/ollama/ollama-codec.ts";
import { openaiResponses } from "../../src/providers/responses/openai-responses.ts";
import { responsesItems } from "../../src/providers/responses/responses-items.ts";
import { languageModel } from "../../src/reference-server/ai-sdk/language-model.ts";
import {
  type Expected,
  type Fault,
  type ReferenceServerOptions,
  readItems,
  type ScriptedAnswer,
  startReferenceServer,
} from "../../src/reference-server/server.ts";
import type { Expected as Told } from "../../src/rehearsal/expected.ts";
import type { RehearsalProvider } from "../../src/rehearsal/ports.ts";
import { rehearsedProviders } from "../../src/rehearsal/rehearsed-providers.ts";
import { isLong } from "./cases.ts";
import { toyCodec } from "./toy/dialect/codec.ts";
import { toy } from "./toy/dialect/provider.ts";
import { serveToy, ToyFront, toolRead } from "./toy/front.ts";

/** What a model knows when it answers: the lines that it reads, how many of them are results, and the request as it came. */
export type Question = { readonly lines: readonly string[]; readonly results: number; readonly bodyText: string };

/** A server of a dialect, and what a test may ask it. */
export type Front = AsyncDisposable & {
  readonly url: string;
  readonly requests: readonly {
    readonly method: string;
    readonly path: string;
    readonly bodyText: string;
    readonly body: JsonValue | undefined;
    readonly status: number;
    readonly hasFaultFired: boolean;
  }[];
  /** What the model read for a request, in lines; undefined where nothing was inferred. */
  lines(index: number): readonly string[] | undefined;
  responseIds(): readonly string[];
  forget(responseId: string): void;
  inject(...faults: readonly Fault[]): void;
  /** Cuts every connection that is kept open. */
  cut(): void;
  clear(): void;
};

type AskedAs = {
  readonly model: string;
  readonly instructions?: string;
  readonly systemAs?: "input" | "instructions";
  readonly transport?: "json" | "sse" | "websocket";
  readonly store?: false;
};

/** A wire that the suites of the laws are played on. */
export type Dialect = {
  readonly codecs: readonly Codec[];
  /** Whether it chains, and names items by their ids. */
  readonly hasIds: boolean;
  /** Whether a message of the model has a phase. */
  readonly hasPhases: boolean;
  readonly resultsStandTogether: boolean;
  /** Whether the model says items that a server's own tools made. */
  readonly hasHosted: boolean;
  /** Whether system messages at the beginning go with the instructions whatever was asked, each by itself. */
  readonly systemStandsFirst?: true;
  /** What a run's mode is drawn from. */
  readonly modes: readonly Mode[];
  /** What a run's way of sending is drawn from. */
  readonly transports: readonly ("json" | "sse" | "websocket")[];
  start(answer: (question: () => Question) => ScriptedAnswer): Promise<Front>;
  provider(url: string, asked: AskedAs): Provider;
  /** What the model reads of what was said, where that is not everything as it was said; instructions are then a message. */
  readonly reads?: (said: readonly Told[]) => readonly Told[];
  /** What a recorded body and the received one both say, where they are not one text. */
  readonly told?: (bodyText: string) => string;
  /** What a Turn says, whatever ids the wire gave to its calls. */
  essence(turn: Turn): string;
  /** A function tool as the model reads it. */
  toolRead(tool: { readonly name: string; readonly description: string; readonly parameters: JsonObject }): Expected;
};

/** A wire that the reference server speaks. */
function referenceDialect(
  wire: Omit<Dialect, "start" | "essence"> & { readonly essence?: Dialect["essence"] },
  options: Partial<ReferenceServerOptions> = {},
): Dialect {
  return {
    essence: saidWithoutIds,
    ...wire,
    async start(answer) {
      const server = await startReferenceServer({
        seed: "dialect",
        ...options,
        answer: ({ reading, body }) =>
          answer(() => ({
            lines: readItems(reading.items, reading),
            results: reading.items.filter((item) => item["type"] === "function_call_output").length,
            bodyText: JSON.stringify([body, reading.items]),
          })),
      });
      return {
        ...server,
        url: server.baseUrl,
        cut() {
          server.sockets.cut();
        },
        lines(index) {
          const reading = server.reading(index);
          return reading === undefined ? undefined : readItems(reading.items, reading);
        },
      };
    },
  };
}

/** What a Turn says, whatever the ids of its calls are. */
function saidWithoutIds({ blocks }: Turn): string {
  const places = blocks.map(({ callId }, place) =>
    blocks.slice(0, place).findLastIndex((block) => block.callId === callId),
  );
  return JSON.stringify(blocks.map((block, n) => [block.kind, block.name, block.text, block.callId && places[n]]));
}

const responses = referenceDialect({
  codecs: [responsesItems],
  ...{ hasIds: true, hasPhases: true, resultsStandTogether: false, hasHosted: true },
  modes: ["chained", "chained", "chained", "chained", "auto", "stateless", "conversation", "conversation"],
  transports: [...Array.from({ length: 7 }, () => "json" as const), "sse", "websocket", "websocket"],
  provider: (baseURL, asked) => openaiResponses({ apiKey: "sk-dialect", baseURL, ...asked }),
  essence: ({ digest }) => digest,
  toolRead: (tool) => toolRead({ type: "function", ...tool, strict: false }),
});

/** What wires without ids of items have in common: whole requests, and one way or the other of an answer. */
const wholeRequests = {
  ...{ hasIds: false, hasPhases: false, resultsStandTogether: true, hasHosted: false },
  modes: ["auto", "stateless"],
  transports: ["json", "json", "json", "sse"],
} as const satisfies Partial<Dialect>;

/** What the model reads on a wire, as rehearsals have it. */
const readsOf =
  (name: RehearsalProvider) =>
  (said: readonly Told[]): readonly Told[] => {
    const { reads = (each: Told) => each, readsAll = (all: readonly Told[]) => all } = rehearsedProviders[name];
    return readsAll(said).flatMap((each) => reads(each) ?? []);
  };

const ofFunction = (tool: { readonly name: string }): Expected => toolRead({ type: "function", ...tool });

const chat = referenceDialect(
  {
    ...wholeRequests,
    codecs: [chatCodecs.vllm],
    provider: (baseURL, { systemAs = "input", transport, store: _, ...asked }) => ({
      ...chatCompletions({ ...asked, baseURL, dialect: "vllm", transport: transport === "sse" ? "sse" : "json" }),
      systemAs,
    }),
    reads: readsOf("chat"),
    toolRead: ofFunction,
  },
  { chat: "vllm" },
);

const anthropicDialect = referenceDialect({
  ...wholeRequests,
  codecs: [messagesCodec],
  provider: (baseUrl, { transport, store: _, ...asked }) =>
    anthropic({
      ...{ ...asked, apiKey: "sk-ant-dialect", baseURL: baseUrl.replace(/\/v1$/, "") },
      // The front looks at the seal of a thought and not at what stands before it.
      ...{ transport: transport === "sse" ? "sse" : "json", capabilities: { reasoningPrefix: "ignore" } },
    }),
  reads: readsOf("anthropic"),
  toolRead,
});

const google = referenceDialect({
  ...wholeRequests,
  codecs: [geminiContents],
  systemStandsFirst: true,
  provider: (baseURL, { model, instructions, transport }) =>
    googleGemini({
      ...{ model, apiKey: "dialect", baseURL, transport: transport === "sse" ? "sse" : "json" },
      ...(instructions === undefined ? {} : { instructions }),
    }),
  reads: readsOf("google"),
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
  reads: readsOf("ollama"),
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
  reads: readsOf("ai-sdk"),
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
  toolRead,
};

/** Every suite that takes a wire is played on these. */
export const dialects = {
  ...{ responses, chat, toy: toyDialect, anthropic: anthropicDialect, google },
  ...{ ollama: ollamaDialect, "ai-sdk": aiSdkDialect },
} as const;
export const dialectNames = ["responses", "chat", "toy", "anthropic", "google", "ollama", "ai-sdk"] as const;
export type DialectName = (typeof dialectNames)[number];

/** The cases that each wire gets: all on that of the Responses API; on the others some, and in the long form many. */
export const byWire = <T>(cases: readonly T[]): readonly (readonly [DialectName, readonly T[]])[] =>
  dialectNames.map((name) => {
    const share = name === "responses" ? 1 : isLong || name === "chat" || name === "toy" ? 1 / 4 : 1 / 10;
    return [name, cases.slice(0, Math.ceil(cases.length * share))];
  });
