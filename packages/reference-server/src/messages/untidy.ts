import { countsSaid, givenSaid, strangersIn, type Untidy, withMember } from "../untidy.ts";
import { isObject, type Json, type JsonObject, objectsOf } from "../wire.ts";

/** A message in the form of servers that imitate Anthropic's. */
export function untidyMessage(untidy: Untidy, message: JsonObject): JsonObject {
  const content = objectsOf(message["content"]).map((block) => {
    if (block["type"] !== "tool_use") return block;
    const { input, ...named } = block;
    return { ...named, ...givenSaid(untidy, "input", input, ["tidy", "text"]) };
  });
  return withMember({ ...message, content, ...strangersIn(untidy) }, "usage", countsSaid(untidy, message["usage"]));
}

/** The same for the events of a stream: all blocks at index 0, blocks without a stop, pings, counts that the end corrects. */
export function untidyEvents(untidy: Untidy, events: readonly JsonObject[]): readonly JsonObject[] {
  const isZero = untidy.pick([true, false, false]);
  const isStopped = untidy.pick([true, true, false]);
  const said = events.flatMap((event): readonly JsonObject[] => {
    const { type, content_block: block, index } = event;
    if (type === "content_block_stop" && !isStopped) return [];
    const placed = isZero && index !== undefined ? { ...event, index: 0 } : event;
    if (type === "content_block_start" && isObject(block) && block["type"] === "tool_use")
      return [
        { ...placed, content_block: withMember(block, "input", untidy.pick<Json | undefined>([{}, null, undefined])) },
      ];
    return type === "message_delta"
      ? [withMember(placed, "usage", lateCounts(untidy, event["usage"])), { type: "ping" }]
      : [placed];
  });
  return untidy.pick([said, [...said.slice(0, 1), { type: "unheard_of", x: null }, ...said.slice(1)]]);
}

function lateCounts(untidy: Untidy, usage: Json | undefined): Json | undefined {
  const counts = isObject(usage) ? usage : {};
  const zeros = Object.fromEntries(Object.keys(counts).map((name) => [name, 0]));
  const nulls = Object.fromEntries(Object.keys(counts).map((name) => [name, null]));
  return untidy.pick<Json | undefined>([counts, zeros, nulls, null, undefined]);
}
