/** A part of a prompt besides its settings. */
export type CachePart = "tool" | "system" | "block";

/** How the requests of a wire become prompts, and what of them separates or spoils a prompt cache. */
export type CacheWire = {
  /** The parts in the order in which a server reads them. */
  readonly order: readonly CachePart[];
  /** The member with the instructions; null if they are a message. */
  readonly system: string | null;
  /** The member with the conversation. */
  readonly list: string;
  /** Whether each content block of a message is a unit of its own. */
  readonly splitsMessages: boolean;
  /** Members that are no part of what the model reads, at every level of a message or an item. */
  readonly unread: ReadonlySet<string>;
  /** Members of a message's parts that are breakpoints. */
  readonly partMarks: ReadonlySet<string>;
  /** Settings that are part of the prefix, by path, and the part before which each is read. Others do not matter, as far as is known. */
  readonly reach: ReadonlyMap<string, CachePart>;
  /** Members of a request that separate caches. */
  readonly separatedBy: readonly string[];
};

const reaches = (...tiers: readonly (readonly [CachePart, readonly string[]])[]): ReadonlyMap<string, CachePart> =>
  new Map(tiers.flatMap(([part, paths]) => paths.map((path) => [path, part] as const)));

const plain = {
  ...{ system: null, splitsMessages: false, unread: new Set<string>(), partMarks: new Set<string>(), separatedBy: [] },
};

/**
 * By the family of the codec. What OpenAI and Anthropic say is in their guides to prompt caching (read on 2026-09-20 and 2026-10-14). Of the
 * other vendors, none says more than that the beginning of the prompt has to be the same.
 */
const wires: ReadonlyMap<string, CacheWire> = new Map<string, CacheWire>([
  [
    "openai-responses",
    {
      ...{ ...plain, order: ["system", "tool", "block"], system: "instructions", list: "input" },
      unread: new Set(["id", "status", "encrypted_content"]),
      partMarks: new Set(["prompt_cache_breakpoint"]),
      separatedBy: ["prompt_cache_key", "service_tier"],
      reach: reaches([
        "system",
        ["model", "parallel_tool_calls", "text.format", "text.verbosity", "reasoning.effort", "context_management"],
      ]),
    },
  ],
  [
    "chat",
    {
      ...{ ...plain, order: ["tool", "block"], list: "messages" },
      partMarks: new Set(["prompt_cache_breakpoint", "cache_control"]),
      separatedBy: ["prompt_cache_key", "service_tier", "user_id"],
      reach: reaches(["tool", ["model", "parallel_tool_calls", "response_format", "verbosity", "reasoning_effort"]]),
    },
  ],
  [
    "anthropic-messages",
    {
      ...{ ...plain, order: ["tool", "system", "block"], system: "system", list: "messages", splitsMessages: true },
      unread: new Set(["cache_control"]),
      separatedBy: ["service_tier"],
      reach: reaches(
        ["tool", ["model"]],
        ["system", ["speed"]],
        ["block", ["tool_choice", "thinking", "output_config.effort", "images"]],
      ),
    },
  ],
  [
    "google-gemini",
    {
      ...{ ...plain, order: ["system", "tool", "block"], system: "systemInstruction", list: "contents" },
      reach: reaches(["system", ["model"]]),
    },
  ],
  [
    "google-interactions",
    {
      ...{ ...plain, order: ["system", "tool", "block"], system: "system_instruction", list: "input" },
      reach: reaches(["system", ["model"]]),
    },
  ],
  ["ollama", { ...plain, order: ["tool", "block"], list: "messages", reach: reaches(["tool", ["model", "think"]]) }],
  ["ai-sdk", { ...plain, order: ["tool", "block"], list: "prompt", reach: new Map() }],
]);

/** The cache wire of a codec's family; undefined if nothing is known of its prompts, or its program decides about them (the Claude CLI). */
export const cacheWire = (family: string): CacheWire | undefined => wires.get(/^chat\b/.test(family) ? "chat" : family);
