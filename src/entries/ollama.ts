/** Ollama's own API. */
export { ollama } from "../providers/ollama/ollama.ts";
export { ollamaCodec } from "../providers/ollama/ollama-codec.ts";
export type { OllamaConnection, OllamaOptions, OllamaSettings } from "../providers/ollama/ollama-options.ts";
export type { AnswerLimits } from "../providers/settings/answer-limits.ts";
export type { HttpOptions, Secrets, TextOrSecret } from "../providers/settings/connection-options.ts";
