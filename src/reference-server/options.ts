import type { ScriptedAnswer } from "./answers.ts";
import type { AzureOptions } from "./azure.ts";
import type { ChatServerDialect } from "./chat/dialects.ts";
import type { Fault } from "./faults.ts";
import type { Json, JsonObject } from "./wire.ts";

/** What a model reads for one request. `readItems(reading.items, reading)` makes lines of it. */
export interface Reading {
  /** Verbatim, oldest first. */
  readonly items: readonly JsonObject[];
  readonly instructions: string | null;
  readonly tools: readonly JsonObject[];
}

/** What a script knows when it answers. */
export interface AnswerInput {
  /** Counts the inference requests that were accepted, from 0. */
  readonly request: number;
  /** Counts every HTTP request and frame, from 0: the `index` in `server.requests`. */
  readonly arrival: number;
  readonly body: JsonObject;
  /** Made when it is asked for. */
  readonly reading: Reading;
}

/** One HTTP request, or one frame of a WebSocket, as it came, and what became of it. */
export interface ReceivedRequest {
  readonly index: number;
  readonly method: string;
  /** With the query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** The exact body, or the exact frame. */
  readonly bodyText: string;
  /** Undefined where the body is no JSON. */
  readonly body: Json | undefined;
  /** Of the answer; 0 while there is none, and for ever where the socket was destroyed before one. */
  readonly status: number;
  readonly responseId: string | undefined;
  /** Milliseconds by the server's clock. */
  readonly at: number;
  /** The WebSocket that it came on, counted from 0; undefined over HTTP. */
  readonly socket: number | undefined;
  /** Whether an injected fault did something: loops over "cut after n bytes" end when it did not. */
  readonly hasFaultFired: boolean;
}

/** How the server differs from an OpenAI server with everything on. */
export interface DialectOptions {
  /** Azure OpenAI: who asks is looked at, answers tell what content filters found. */
  readonly azure?: AzureOptions;
  /** Zero data retention: ids are refused over HTTP. */
  readonly zdr?: boolean;
  /** Chaining is refused as the ChatGPT backend or llama.cpp do, or the id is ignored (Perplexity). */
  readonly noChain?: "http-detail" | "llama.cpp" | "ignored";
  /** false: there are no conversation objects. */
  readonly hasConversations?: boolean;
  /** How an unknown id is refused. */
  readonly notFound?: "openai" | "vllm";
  /** vLLM leaves out the `system` messages of earlier turns. */
  readonly dropsSystem?: boolean;
  /** vLLM without its store: `store: true` silently becomes false. */
  readonly neverStores?: boolean;
  /** Whether an incomplete response may be continued: true when left out. */
  readonly chainsFromIncomplete?: boolean;
  readonly acceptsEmptyInput?: boolean;
  /** The input items of a chained response begin with all that it goes on from; no source says that any server does so. */
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
  /** Delivers ciphertexts without being asked. */
  readonly encryptsAlways?: boolean;
  /**
   * Reasoning is taken only behind what stood before it when it was made (instructions, tools, items), and by the model that
   * made it; what is not is kept from the model and told (`input_transformations`), or the request is refused. At the Messages API a
   * request says by itself that thinking be dropped and told (`thinking.block_binding`); `refuses` is for those that do not say it.
   */
  readonly checksReasoning?: "withholds" | "refuses";
  /**
   * Compacts where a request asks for it (`context_management`) and its context has more tokens than that: the answer begins with a
   * compaction item, which a later reading shows as what it stands for.
   */
  readonly compacts?: boolean;
  /** false: takes ciphertexts and signatures of other servers, for replays of recorded requests. */
  readonly verifiesCiphertexts?: boolean;
  /** Whose Chat Completions it speaks at `/v1/chat/completions`; `openai` when left out. */
  readonly chat?: ChatServerDialect;
  /** Which OAuth tokens it takes at `/v1internal:generateContent`, where it speaks as Code Assist does; every one when left out. */
  readonly takesToken?: (token: string) => boolean;
  /** How its WebSockets differ. */
  readonly webSocket?: SocketOptions;
}

/** How the WebSockets of a server differ from OpenAI's. */
export interface SocketOptions {
  /** Every upgrade is refused with this status: 426 is that of an endpoint without WebSockets. */
  readonly refused?: number;
  /** `none`: one response in flight, `stream_id` is no member (Azure). `ignored`: as if it were not there, one after another. */
  readonly lanes?: "none" | "ignored";
  /** The shape of error frames: as documented; without type and param, as seen on the wire; flat and without a status. */
  readonly errors?: "documented" | "bare" | "flat";
  /** `always`: `generate: false` is not known, and answered as any other request. */
  readonly generates?: "always";
}

/** Options of `startReferenceServer`. */
export interface ReferenceServerOptions extends DialectOptions {
  /** 0, the default, takes a free port. */
  readonly port?: number;
  /**
   * A seed: answers say the same as servers of each wire really say it, drawn anew for each. Calls without arguments or ids, numbers as texts, usage that is null,
   * late or absent, one index for all, members that no client knows, events without data.
   */
  readonly untidy?: string;
  /** Answers by request number; wins over `answer`. */
  readonly script?: readonly ScriptedAnswer[];
  /** Without both, every request is answered by one short message. */
  readonly answer?: (input: AnswerInput) => ScriptedAnswer | Promise<ScriptedAnswer>;
  /** Asked for every request when no injected fault waits. */
  readonly faults?: (request: ReceivedRequest) => Fault | undefined;
  /** Makes ids and ciphertexts; random when left out, so that two servers never share an id. */
  readonly seed?: string;
  /** Milliseconds; the real clock when left out. */
  readonly now?: () => number;
  /** Characters in one streamed delta. */
  readonly deltaLength?: number;
  /** What is longer is answered 413; 512 MiB when left out. */
  readonly maxBodyBytes?: number;
  /**
   * How many requests are kept, and how many responses: the oldest go first, and ids of theirs are unknown from then on.
   * 10,000 when left out.
   */
  readonly maxKept?: number;
  /** Bytes of the bodies of the requests that are kept; 256 MiB when left out. The newest is kept whatever its size. */
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
    webSocket: true,
  },
};

/**
 * Refuses a misspelt option: a script that nobody reads would be answered by the default.
 *
 * @throws {TypeError} for an option that there is not, and for a script that is no list.
 */
export function checkServerOptions(options: ReferenceServerOptions): void {
  const unknown = Object.keys(options).find((name) => !Object.hasOwn(optionNames, name));
  if (unknown !== undefined)
    throw new TypeError(`startReferenceServer has no option '${unknown}': its type ReferenceServerOptions lists all`);
  if (options.script !== undefined && !Array.isArray(options.script))
    throw new TypeError("startReferenceServer: script is no list: give a list of answers");
}
