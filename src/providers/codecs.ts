import type { Codec } from "../engine/stack/codec.ts";
import { chatCodecs } from "./chat/chat-codec.ts";
import { responsesItems } from "./responses-items.ts";

/** Every released codec by the name that recorded requests carry: none is ever taken out, for old bodies are rebuilt with it. */
export const codecs: ReadonlyMap<string, Codec> = codecsWith([]);

/** The same, and those of other providers. */
export function codecsWith(others: readonly Codec[]): ReadonlyMap<string, Codec> {
  return new Map([responsesItems, ...Object.values(chatCodecs), ...others].map((codec: Codec) => [codec.name, codec]));
}
