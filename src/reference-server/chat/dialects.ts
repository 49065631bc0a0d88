/** Whose Chat Completions a server speaks. */
export type ChatServerDialect = (typeof chatServerDialects)[number];

export const chatServerDialects = [
  ...(["openai", "deepseek", "mistral", "groq", "openrouter", "gemini-openai"] as const),
  ...(["vllm", "llama.cpp", "ollama"] as const),
] as const;

/** The member of a message that thoughts come in; none where they are parts of the content, or are not shown. */
export const thoughtMembers: Readonly<Partial<Record<ChatServerDialect, string>>> = {
  deepseek: "reasoning_content",
  groq: "reasoning",
  openrouter: "reasoning",
  vllm: "reasoning",
  "llama.cpp": "reasoning_content",
  ollama: "reasoning",
};
