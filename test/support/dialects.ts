import type { JsonObject, JsonValue } from "../../src/base/json.ts";
import type { Turn } from "../../src/domain/turn.ts";
import type { Mode } from "../../src/engine/stack/chain-policy.ts";
import type { Codec } from "../../src/engine/stack/codec.ts";
import type { Provider } from "../../src/engine/stack/provider.ts";
import { chatCodecs } from "../../src/providers/chat/chat-codec.ts";
import { chatCompletions } from "../../src/providers/chat/chat-completions.ts";
import { openaiResponses } from "../../src/providers/openai-responses.ts";
import { responsesItems } from "../../src/providers/responses-items.ts";
import {
  type Expected,
  type Fault,
  type ReferenceServerOptions,
  readItems,
  type ScriptedAnswer,
  startReferenceServer,
} from "../../src/reference-server/server.ts";
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
  /** What a run's mode is drawn from. */
  readonly modes: readonly Mode[];
  /** What a run's way of sending is drawn from. */
  readonly transports: readonly ("json" | "sse" | "websocket")[];
  start(answer: (question: () => Question) => ScriptedAnswer): Promise<Front>;
  provider(url: string, asked: AskedAs): Provider;
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
  ...{ hasIds: true, hasPhases: true, resultsStandTogether: false },
  modes: ["chained", "chained", "chained", "chained", "auto", "stateless", "conversation", "conversation"],
  transports: [...Array.from({ length: 7 }, () => "json" as const), "sse", "websocket", "websocket"],
  provider: (baseURL, asked) => openaiResponses({ apiKey: "sk-dialect", baseURL, ...asked }),
  essence: ({ digest }) => digest,
  toolRead: (tool) => toolRead({ type: "function", ...tool, strict: false }),
});

const chat = referenceDialect(
  {
    codecs: [chatCodecs.vllm],
    ...{ hasIds: false, hasPhases: false, resultsStandTogether: true },
    modes: ["auto", "stateless"],
    transports: ["json", "json", "json", "sse"],
    provider: (baseURL, { systemAs = "input", transport, store: _, ...asked }) => ({
      ...chatCompletions({ ...asked, baseURL, dialect: "vllm", transport: transport === "sse" ? "sse" : "json" }),
      systemAs,
    }),
    toolRead: (tool) => toolRead({ type: "function", ...tool }),
  },
  { chat: "vllm" },
);

const toyDialect: Dialect = {
  codecs: [toyCodec],
  ...{ hasIds: false, hasPhases: false, resultsStandTogether: true },
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
export const dialects = { responses, chat, toy: toyDialect } as const;
export const dialectNames = ["responses", "chat", "toy"] as const satisfies readonly (keyof typeof dialects)[];
export type DialectName = keyof typeof dialects;
