import type { PartCapabilities } from "../../engine/stack/part-capabilities.ts";

/** What sets one server's Chat Completions apart from another's, as far as blocks and settings go. */
export type ChatDialect = {
  /** The name of the codec and its version: it stands in recorded requests, so that each dialect's bytes are frozen by themselves. */
  readonly codec: string;
  /** The member of a message that thoughts are sent back under; null where the server takes none. */
  readonly reasoningMember: string | null;
  /** Thoughts are parts of the content, under a type of their own. */
  readonly hasThinkingParts?: true;
  /** What bounds the length of an answer. */
  readonly outputLimit: "max_completion_tokens" | "max_tokens";
  /** Every message of the model has to have `reasoning_content`, where the request offers tools. */
  readonly wantsThoughts?: true;
  /** Ids of calls that the server takes as they are, and the length of those that others are made into. */
  readonly callIds?: { readonly taken: RegExp; readonly length: number };
  /** Parts of messages that the server refuses, whatever the model: `images`, `imageUrls`, `files`, `audio`. */
  readonly lacks?: readonly (keyof PartCapabilities)[];
  /** Tools whose input is free text, and messages of a developer, are OpenAI's own: for others the developer is the system. */
  readonly isOpenai?: true;
};

const nineLetters = { taken: /^[a-zA-Z0-9]{9}$/, length: 9 };

export const chatDialects = {
  openai: {
    ...{ codec: "chat/1", reasoningMember: null, outputLimit: "max_completion_tokens", isOpenai: true },
    callIds: { taken: /^.{1,40}$/s, length: 40 },
  },
  deepseek: {
    ...{ codec: "chat-deepseek/1", reasoningMember: "reasoning_content", outputLimit: "max_tokens" },
    // "unknown variant `image_url`, expected `text`", also of models that see.
    ...{ wantsThoughts: true, lacks: ["images", "files", "audio"] },
  },
  mistral: {
    ...{ codec: "chat-mistral/1", reasoningMember: null, outputLimit: "max_tokens" },
    // Documents and audio have parts of its own there.
    ...{ hasThinkingParts: true, callIds: nineLetters, lacks: ["files", "audio"] },
  },
  groq: {
    ...{ codec: "chat-groq/1", reasoningMember: null, outputLimit: "max_completion_tokens" },
    lacks: ["files", "audio"],
  },
  openrouter: { codec: "chat-openrouter/1", reasoningMember: "reasoning", outputLimit: "max_tokens" },
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

/** Whose Chat Completions a server speaks. */
export type ChatDialectName = keyof typeof chatDialects;
export const chatDialectNames = Object.keys(chatDialects) as readonly ChatDialectName[];
