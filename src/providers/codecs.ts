import type { Codec } from "../engine/ports/codec.ts";
import { aiSdkCodec } from "./ai-sdk/ai-sdk-codec.ts";
import { messagesCodec } from "./anthropic/messages-codec.ts";
import { chatCodecs } from "./chat/chat-codec.ts";
import { claudeCliCodec } from "./claude-cli/claude-cli-codec.ts";
import { geminiCodec } from "./google/gemini-codec.ts";
import { interactionsCodec } from "./google/interactions-codec.ts";
import { ollamaCodec } from "./ollama/ollama-codec.ts";
import { responsesCodec } from "./responses/responses-codec.ts";

const released: readonly Codec[] = [
  responsesCodec,
  ...Object.values(chatCodecs),
  geminiCodec,
  interactionsCodec,
  aiSdkCodec,
  ollamaCodec,
  claudeCliCodec,
  messagesCodec,
];

/** Every released codec by the name that recorded requests carry. None is ever removed, because old request bodies are rebuilt with it. */
export const codecs: ReadonlyMap<string, Codec> = codecsWith([]);

/** The same, with those of other providers. */
export function codecsWith(others: readonly Codec[]): ReadonlyMap<string, Codec> {
  return new Map([...released, ...others].map((codec) => [codec.name, codec]));
}
