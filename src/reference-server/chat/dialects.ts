/** Whose Chat Completions a server speaks. */
export type ChatServerDialect = (typeof chatServerDialects)[number];

export const chatServerDialects = ["openai", "deepseek", "mistral", "groq", "vllm", "llama.cpp", "ollama"] as const;

/** The member of a message that thoughts come in; none where they are parts of the content, or are not shown. */
export const thoughtMembers: Readonly<Partial<Record<ChatServerDialect, string>>> = {
  deepseek: "reasoning_content",
  groq: "reasoning",
  vllm: "reasoning",
  "llama.cpp": "reasoning_content",
  ollama: "reasoning",
};
