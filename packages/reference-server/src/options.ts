import type { ScriptedAnswer } from "./answers.ts";
import type { AzureOptions } from "./azure.ts";
import { type CacheFront, type CacheOptions, cacheFronts, isCacheFact } from "./cache/facts.ts";
import type { CacheVerdict } from "./cache/verdict.ts";
import type { ChatServerDialect } from "./chat/dialects.ts";
import type { Fault } from "./faults.ts";
import type { Json, JsonObject } from "./wire.ts";

/** What a model reads for one request. `readItems(reading.items, reading)` turns it into lines. */
export interface Reading {
  /** Verbatim, oldest first. */
  readonly items: readonly JsonObject[];
  readonly instructions: string | null;
  readonly tools: readonly JsonObject[];
}

/** The input of a script for its answer. */
export interface AnswerInput {
  /** The number of this inference request among the accepted ones, from 0. */
  readonly request: number;
  /** The number of this HTTP request or frame among all, from 0: the `index` in `server.requests`. */
  readonly arrival: number;
  readonly body: JsonObject;
  /** Created on demand. */
  readonly reading: Reading;
}

/** One HTTP request, or one frame of a WebSocket, as received, and its result. */
export interface ReceivedRequest {
  readonly index: number;
  readonly method: string;
  /** With the query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** The exact body, or the exact frame. */
  readonly bodyText: string;
  /** Undefined if the body is not JSON. */
  readonly body: Json | undefined;
  /** The status of the answer; 0 before there is one, and forever if the socket was destroyed first. */
  readonly status: number;
  readonly responseId: string | undefined;
  /** In milliseconds, by the server's clock. */
  readonly at: number;
  /** The WebSocket that carried it, numbered from 0; undefined over HTTP. */
  readonly socket: number | undefined;
  /** What the prompt cache did for it; undefined if the model was not asked. */
  readonly cache: CacheVerdict | undefined;
  /** Whether an injected fault had an effect: loops over "cut after n bytes" end when it had none. */
  readonly hasFaultFired: boolean;
}

/** How the server differs from an OpenAI server with all features on. */
export interface DialectOptions {
  /** Azure OpenAI: keys are checked, and answers report the findings of content filters. */
  readonly azure?: AzureOptions;
  /** Zero data retention: ids are rejected over HTTP. */
  readonly zdr?: boolean;
  /** Chaining is rejected as in the ChatGPT backend or llama.cpp, or the id is ignored (Perplexity). */
  readonly noChain?: "http-detail" | "llama.cpp" | "ignored";
  /** false: there are no conversation objects. */
  readonly hasConversations?: boolean;
  /** How an unknown id is rejected. */
  readonly notFound?: "openai" | "vllm";
  /** vLLM omits the `system` messages of earlier turns. */
  readonly dropsSystem?: boolean;
  /** vLLM without its store: `store: true` silently becomes false. */
  readonly neverStores?: boolean;
  /** Whether a request may continue from an incomplete response. Default: true. */
  readonly chainsFromIncomplete?: boolean;
  readonly acceptsEmptyInput?: boolean;
  /** The input items of a chained response include those of its ancestors; no source says that any server does so. */
  readonly listsAncestors?: boolean;
  /** Parameters that this model does not support. */
  readonly unsupported?: readonly string[];
  /** Values that this model does not support; `path` is `field` or `field.member`. */
  readonly unsupportedValues?: readonly {
    readonly path: string;
    readonly value: string;
    readonly supported: readonly string[];
  }[];
  /** Undefined: every model exists. */
  readonly models?: readonly string[];
  /** Size of the context window in the server's own tokens (four characters each). */
  readonly maxContextTokens?: number;
  /** Sends ciphertexts even if not requested. */
  readonly encryptsAlways?: boolean;
  /**
   * Reasoning is accepted only after the prefix that produced it (instructions, tools, items), and only by the model that
   * produced it. Other reasoning is withheld from the model and reported (`input_transformations`), or the request is rejected. At the
   * Messages API, a request itself may ask that such thinking be dropped and reported (`thinking.block_binding`); `refuses` applies to
   * requests that do not ask.
   */
  readonly checksReasoning?: "withholds" | "refuses";
  /**
   * Compacts if a request asks for it (`context_management`) and its context has more tokens than the request's threshold: the answer
   * begins with a compaction item, for which a later reading shows the items that it replaces.
   */
  readonly compacts?: boolean;
  /** false: accepts ciphertexts and signatures of other servers, for replays of recorded requests. */
  readonly verifiesCiphertexts?: boolean;
  /** The dialect of Chat Completions at `/v1/chat/completions`. Default: `openai`. */
  readonly chat?: ChatServerDialect;
  /** Which OAuth tokens it accepts at `/v1internal:generateContent`, as Code Assist. Default: all. */
  readonly takesToken?: (token: string) => boolean;
  /** Takes cache breakpoints on message threads, three at most. Default: rejects them; Anthropic's documents disagree. */
  readonly takesThreadMarks?: boolean;
  /** How its WebSockets differ. */
  readonly webSocket?: SocketOptions;
  /**
   * How the prompt caches of its fronts differ from the defaults. By default every front caches every prefix for good and to the token,
   * except for Anthropic's, which cache at breakpoints for five minutes or an hour.
   */
  readonly caches?: { readonly [front in CacheFront]?: CacheOptions };
}

/** How the WebSockets of a server differ from OpenAI's. */
export interface SocketOptions {
  /** Every upgrade is rejected with this status: 426 is that of an endpoint without WebSockets. */
  readonly refused?: number;
  /** `none`: one response in flight, `stream_id` is an unknown member (Azure). `ignored`: `stream_id` has no effect, answers come one by one. */
  readonly lanes?: "none" | "ignored";
  /** The shape of error frames: as documented; without type and param, as on the real wire; flat and without a status. */
  readonly errors?: "documented" | "bare" | "flat";
  /** `always`: `generate: false` is unknown, so such a request is answered like any other. */
  readonly generates?: "always";
}

/** Options of `startReferenceServer`. */
export interface ReferenceServerOptions extends DialectOptions {
  /** Default: 0, a free port. */
  readonly port?: number;
  /**
   * A seed for untidy answers: the same content in forms that servers of each wire really use, drawn for each answer. Calls without
   * arguments or ids, numbers as texts, usage that is null, late or absent, one index for all, unknown members, events without data.
   */
  readonly untidy?: string;
  /** Answers by request number; takes precedence over `answer`. */
  readonly script?: readonly ScriptedAnswer[];
  /** Without `script` and `answer`, every request gets one short message as its answer. */
  readonly answer?: (input: AnswerInput) => ScriptedAnswer | Promise<ScriptedAnswer>;
  /** Called for every request if no injected fault is pending. */
  readonly faults?: (request: ReceivedRequest) => Fault | undefined;
  /** Determines ids and ciphertexts. Default: random, so that two servers never share an id. */
  readonly seed?: string;
  /** In milliseconds. Default: the real clock. */
  readonly now?: () => number;
  /** Characters in one streamed delta. */
  readonly deltaLength?: number;
  /** A longer body gets a 413. Default: 512 MiB. */
  readonly maxBodyBytes?: number;
  /**
   * How many requests, and how many responses, to keep: the oldest are dropped first, and their ids are then unknown.
   * Default: 10,000.
   */
  readonly maxKept?: number;
  /** How many bytes of request bodies to keep. Default: 256 MiB. The newest is always kept. */
  readonly maxKeptBytes?: number;
}

const optionNames: { readonly [Name in keyof ReferenceServerOptions]-?: true } = {
  ...{ port: true, untidy: true, script: true, answer: true, faults: true, seed: true, now: true, deltaLength: true },
  ...{ maxBodyBytes: true, maxKept: true, maxKeptBytes: true },
  ...{ azure: true, zdr: true, noChain: true, hasConversations: true, notFound: true, dropsSystem: true },
  ...{ neverStores: true, chainsFromIncomplete: true, acceptsEmptyInput: true, listsAncestors: true },
  ...{ unsupported: true, unsupportedValues: true, models: true, maxContextTokens: true, encryptsAlways: true },
  ...{
    checksReasoning: true,
    compacts: true,
    verifiesCiphertexts: true,
    chat: true,
    takesToken: true,
    ...{ takesThreadMarks: true, webSocket: true, caches: true },
  },
};

/**
 * Rejects a misspelt option: otherwise an unread script would be silently replaced by the default.
 *
 * @throws {TypeError} if an option is unknown, or the script is not a list.
 */
export function checkServerOptions(options: ReferenceServerOptions): void {
  const unknown = Object.keys(options).find((name) => !Object.hasOwn(optionNames, name));
  if (unknown !== undefined)
    throw new TypeError(`startReferenceServer has no option '${unknown}': its type ReferenceServerOptions lists all`);
  if (options.script !== undefined && !Array.isArray(options.script))
    throw new TypeError("startReferenceServer: script is no list: give a list of answers");
  for (const [front, facts] of Object.entries(options.caches ?? {})) {
    if (!cacheFronts.has(front))
      throw new TypeError(
        `startReferenceServer: caches has no front '${front}': give one of ${[...cacheFronts].join(", ")}`,
      );
    const fact = Object.keys(facts).find((name) => !isCacheFact(name));
    if (fact !== undefined)
      throw new TypeError(
        `startReferenceServer: caches.${front} has no member '${fact}': its type CacheOptions lists all`,
      );
  }
}
