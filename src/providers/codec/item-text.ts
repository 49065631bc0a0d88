import { isJsonList, type JsonObject } from "../../base/json.ts";
import type { Codec, SentBlock } from "../../engine/ports/codec.ts";

type ItemOf = (block: SentBlock["block"], options: Pick<SentBlock, "withId">) => JsonObject;

/** By codec. A codec adds itself, so that a page loads none that its conversations do not need. */
const itemsOf = new WeakMap<object, ItemOf>();

/** A codec that writes each block as one item of the body, whatever the others are. */
export function writingItems<Kind extends object>(codec: Kind, itemOf: ItemOf): Kind {
  itemsOf.set(codec, itemOf);
  return codec;
}

/** The text of a block in the body of such a codec; null for the other codecs, and for a body in which items have breakpoints by their places. */
export function itemTextOf(codec: Codec, details: JsonObject | undefined): ((sent: SentBlock) => string) | null {
  const itemOf = itemsOf.get(codec);
  if (itemOf === undefined || isJsonList(details?.["breakpoints"])) return null;
  return ({ block, withId }) => JSON.stringify(itemOf(block, { withId }));
}
