/** Models of the AI SDK. */
export { type AiSdkModel, type AiSdkOptions, type AiSdkSettings, aiSdk } from "../providers/ai-sdk/ai-sdk.ts";
export { aiSdkCodec } from "../providers/ai-sdk/ai-sdk-codec.ts";
export type { SupportedUrls } from "../providers/ai-sdk/supported-urls.ts";
export type { HttpOptions, Secrets, TextOrSecret, TransportOption } from "../providers/settings/connection-options.ts";
