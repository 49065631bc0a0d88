/** The dialects of Chat Completions that a server can speak. */
export type ChatServerDialect = (typeof chatServerDialects)[number];

export const chatServerDialects = [
  ...(["openai", "deepseek", "mistral", "groq", "openrouter", "gemini-openai"] as const),
  ...(["vllm", "llama.cpp", "ollama"] as const),
] as const;

/** The member of a message that has the reasoning; absent if reasoning is a part of the content, or is not shown. */
export const thoughtMembers: Readonly<Partial<Record<ChatServerDialect, string>>> = {
  deepseek: "reasoning_content",
  groq: "reasoning",
  openrouter: "reasoning",
  vllm: "reasoning",
  "llama.cpp": "reasoning_content",
  ollama: "reasoning",
};
