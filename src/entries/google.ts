/** Google's models: by an API key, on Vertex AI, and through endpoints like Code Assist; and the Interactions API. */
export { type CodeAssistOptions, googleCodeAssist } from "../providers/google/code-assist.ts";
export { geminiCodec } from "../providers/google/gemini-codec.ts";
export { blocksOfContents } from "../providers/google/gemini-contents.ts";
export type { Credentials, GeminiConnection, GeminiSettings } from "../providers/google/gemini-options.ts";
export type { Wrap } from "../providers/google/gemini-provider.ts";
export type { GoogleKey } from "../providers/google/google-api.ts";
export { type GoogleGeminiOptions, googleGemini } from "../providers/google/google-gemini.ts";
export {
  type GoogleInteractionsOptions,
  googleInteractions,
  type InteractionSettings,
} from "../providers/google/google-interactions.ts";
export { interactionsCodec } from "../providers/google/interactions-codec.ts";
export { type GoogleVertexOptions, googleVertex } from "../providers/google/vertex.ts";
export type {
  HttpOptions,
  KeySource,
  OwnerOption,
  Secrets,
  TextOrSecret,
  TransportOption,
} from "../providers/settings/connection-options.ts";
