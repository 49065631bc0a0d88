import type { PartCapabilities } from "../../engine/ports/part-capabilities.ts";

/** How one server's Chat Completions differ from another's in blocks and settings. */
export type ChatDialect = {
  /** The name of the codec with its version. Recorded requests have it, so each dialect's bytes are frozen separately. */
  readonly codec: string;
  /** The member of a message in which reasoning is sent back; null if the server accepts none. */
  readonly reasoningMember: string | null;
  /** Reasoning comes as parts of the content, under a type of its own. */
  readonly hasThinkingParts?: true;
  /** The member that limits the length of an answer. */
  readonly outputLimit: "max_completion_tokens" | "max_tokens";
  /** Every message of the model must have `reasoning_content` if the request offers tools. */
  readonly wantsThoughts?: true;
  /** The call ids that the server accepts, and the length of the replacements for others. */
  readonly callIds?: { readonly taken: RegExp; readonly length: number };
  /** Parts of messages that the server refuses with any model: `images`, `imageUrls`, `files`, `audio`. */
  readonly lacks?: readonly (keyof PartCapabilities)[];
  /**
   * The member of a message's part that is an explicit breakpoint of the prompt cache (`cacheBreakpoints`), in OpenAI's form or in
   * Anthropic's; absent if the server takes none.
   */
  readonly breakpoints?: "prompt_cache_breakpoint" | "cache_control";
  /** Tools with free text as input, and developer messages, are OpenAI's own: for other servers a developer message becomes a system message. */
  readonly isOpenai?: true;
};

const nineLetters = { taken: /^[a-zA-Z0-9]{9}$/, length: 9 };

export const chatDialects = {
  openai: {
    ...{ codec: "chat/1", reasoningMember: null, outputLimit: "max_completion_tokens", isOpenai: true },
    ...{ callIds: { taken: /^.{1,40}$/s, length: 40 }, breakpoints: "prompt_cache_breakpoint" },
  },
  deepseek: {
    ...{ codec: "chat-deepseek/1", reasoningMember: "reasoning_content", outputLimit: "max_tokens" },
    // "unknown variant `image_url`, expected `text`", also for models with vision.
    ...{ wantsThoughts: true, lacks: ["images", "files", "audio"] },
  },
  mistral: {
    ...{ codec: "chat-mistral/1", reasoningMember: null, outputLimit: "max_tokens" },
    // Documents and audio have parts of Mistral's own there.
    ...{ hasThinkingParts: true, callIds: nineLetters, lacks: ["files", "audio"] },
  },
  groq: {
    ...{ codec: "chat-groq/1", reasoningMember: null, outputLimit: "max_completion_tokens" },
    lacks: ["files", "audio"],
  },
  openrouter: {
    ...{ codec: "chat-openrouter/1", reasoningMember: "reasoning", outputLimit: "max_tokens" },
    breakpoints: "cache_control",
  },
  "gemini-openai": {
    ...{ codec: "chat-gemini-openai/1", reasoningMember: null, outputLimit: "max_completion_tokens" },
    lacks: ["files"],
  },
  vllm: {
    ...{ codec: "chat-vllm/1", reasoningMember: "reasoning", outputLimit: "max_completion_tokens" },
    lacks: ["files"],
  },
  "llama.cpp": {
    ...{ codec: "chat-llama.cpp/1", reasoningMember: "reasoning_content", outputLimit: "max_tokens" },
    lacks: ["files"],
  },
  ollama: {
    ...{ codec: "chat-ollama/1", reasoningMember: "reasoning", outputLimit: "max_tokens" },
    lacks: ["files", "audio"],
  },
} as const satisfies Readonly<Record<string, ChatDialect>>;

/** The dialect of Chat Completions that a server uses. */
export type ChatDialectName = keyof typeof chatDialects;
export const chatDialectNames = Object.keys(chatDialects) as readonly ChatDialectName[];
