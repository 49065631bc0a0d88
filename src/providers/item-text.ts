import { isJsonList, type JsonObject } from "../base/json.ts";
import type { Codec, SentBlock } from "../engine/stack/codec.ts";
import { responsesCodec } from "./responses/responses-codec.ts";

/**
 * The text of a block in the body of a codec that writes each block as one item, whatever the others are; null for the other codecs, and
 * for a body in which items have breakpoints by their places.
 */
export function itemTextOf(codec: Codec, details: JsonObject | undefined): ((sent: SentBlock) => string) | null {
  if (codec !== responsesCodec || isJsonList(details?.["breakpoints"])) return null;
  return ({ block, withId }) => JSON.stringify(responsesCodec.requestItem(block, { withId }));
}
