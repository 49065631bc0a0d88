import { type JsonObject, stringOf, valueAt } from "../wire.ts";

/** How the prompt cache of one front works. */
export interface CacheFacts {
  /** A prefix with fewer tokens is not cached. */
  readonly minimumTokens: number;
  /** The front reports cached tokens in multiples of this: 1 is exact. */
  readonly stepTokens: number;
  /** Lifetimes in milliseconds, by the names that requests use; `default` if a request names none of them. */
  readonly lifetimesMs: Readonly<Record<string, number>>;
  /** Members of a request that separate caches: two requests with different values share nothing. */
  readonly separatedBy: readonly string[];
  /** The order in which the parts of a prompt are read. */
  readonly order: readonly PromptPart[];
  /** Settings that are read as part of the prefix, and the part that each comes before. */
  readonly settings: readonly PrefixSetting[];
  /**
   * Where a prompt is cached: after every unit, after the breakpoints that the request sets (Anthropic), or after the newest message of
   * the user, tool result or first developer message and the breakpoints that the request sets (OpenAI from GPT-5.6 on).
   */
  readonly boundaries: "every-unit" | "breakpoints" | "message-ends";
  /** How many positions back from a boundary a request looks for a cache entry; a run of calls, or of results, is one position. */
  readonly lookback: number;
  /** Whether the answer is cached after its prompt. */
  readonly cachesAnswers: boolean;
  /** Whether answers report cached tokens. */
  readonly isReported: boolean;
  /** Whether answers report the tokens that were written to the cache. */
  readonly reportsWrites: boolean;
}

/** The parts of a prompt besides its settings. */
export type PromptPart = "tool" | "system" | "message";

/** A setting that is part of the prefix: its path in the request (`reasoning.effort`), and the part that it comes before. */
export interface PrefixSetting {
  readonly path: string;
  readonly before: PromptPart;
}

/** The fronts that have a prompt cache. */
export type CacheFront =
  | "responses"
  | "chat"
  | "messages"
  | "gemini"
  | "interactions"
  | "ollama"
  | "ai-sdk"
  | "claude-cli";

/** Facts of a front that a test replaces. */
export type CacheOptions = Partial<CacheFacts>;

const before = (part: PromptPart, ...paths: readonly string[]): readonly PrefixSetting[] =>
  paths.map((path) => ({ path, before: part }));

const minute = 60_000;

/** An automatic cache that keeps every prefix for good: what tests need if they are not about the cache. */
const automatic: Omit<CacheFacts, "settings" | "order"> = {
  ...{ minimumTokens: 0, stepTokens: 1, lifetimesMs: { default: Number.POSITIVE_INFINITY }, separatedBy: [] },
  ...{ boundaries: "every-unit", lookback: 20, cachesAnswers: false, isReported: true, reportsWrites: false },
};

const marked: Omit<CacheFacts, "settings" | "order"> = {
  ...automatic,
  ...{ boundaries: "breakpoints", reportsWrites: true },
  lifetimesMs: { default: 5 * minute, "5m": 5 * minute, "1h": 60 * minute },
};

/** The defaults of each front. OpenAI's and Anthropic's settings are those that their guides to prompt caching name. */
const factsByFront: Readonly<Record<CacheFront, CacheFacts>> = {
  responses: {
    ...{ ...automatic, order: ["system", "tool", "message"], cachesAnswers: true },
    separatedBy: ["prompt_cache_key", "service_tier"],
    settings: before(
      "system",
      ...["model", "parallel_tool_calls", "text.format", "text.verbosity", "reasoning.effort", "context_management"],
    ),
  },
  chat: {
    ...{ ...automatic, order: ["tool", "message"], separatedBy: ["prompt_cache_key", "service_tier", "user_id"] },
    settings: before("tool", "model", "parallel_tool_calls", "response_format", "verbosity", "reasoning_effort"),
  },
  messages: {
    ...{ ...marked, order: ["tool", "system", "message"], separatedBy: ["service_tier"] },
    settings: [
      ...before("tool", "model"),
      ...before("system", "speed"),
      ...before("message", "tool_choice", "thinking", "output_config.effort", "images"),
    ],
  },
  gemini: { ...automatic, order: ["system", "tool", "message"], settings: before("system", "model") },
  interactions: { ...automatic, order: ["system", "tool", "message"], settings: before("system", "model") },
  ollama: { ...automatic, order: ["tool", "message"], settings: before("tool", "model", "think") },
  "ai-sdk": { ...automatic, order: ["tool", "message"], settings: [] },
  "claude-cli": { ...marked, order: ["system", "message"], settings: before("system", "model") },
};

/** How long an entry lives by the name of its lifetime. */
export const lifetimeMs = ({ lifetimesMs }: CacheFacts, name: string): number =>
  lifetimesMs[name] ?? lifetimesMs["default"] ?? Number.POSITIVE_INFINITY;

/** The name of the lifetime that a request asks for as a whole. */
export function lifetimeOf(body: JsonObject, { lifetimesMs }: CacheFacts): string {
  const names = [valueAt(body, "prompt_cache_options.ttl"), body["prompt_cache_retention"]].map(stringOf);
  return names.find((name) => name !== undefined && Object.hasOwn(lifetimesMs, name)) ?? "default";
}

/** Whether a request has no boundaries but its breakpoints (OpenAI from GPT-5.6 on). */
export const isExplicit = (body: JsonObject): boolean => valueAt(body, "prompt_cache_options.mode") === "explicit";

/** The fronts with a prompt cache, by name. */
export const cacheFronts: ReadonlySet<string> = new Set(Object.keys(factsByFront));

/** The facts of a front, with those that a test replaces. */
export const cacheFacts = (front: CacheFront, options: CacheOptions = {}): CacheFacts => ({
  ...factsByFront[front],
  ...options,
});

/** Whether this is the name of a fact. */
export const isCacheFact = (name: string): boolean => Object.hasOwn(factsByFront.chat, name);
