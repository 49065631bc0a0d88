import { isJsonList, isJsonObject, type JsonObject, type JsonValue } from "../../base/json.ts";
import type { PlannedParts, Settings } from "../../engine/stack/codec.ts";
import { isEmptyText } from "./content-parts.ts";
import { asksForThreads } from "./threads.ts";

/** So many marks the API takes in one request (Anthropic's guide to prompt caching). */
const maxMarks = 4;

/**
 * Where a request is marked for the cache, each place as the number of blocks of the input before it; 0 is behind the tools and the
 * system prompt. The end is marked, so that the next request finds it. Where earlier requests ended is marked too: the
 * server has that, and looks from a mark back over 20 blocks of content only, which one answer with its results may exceed.
 */
export function cacheDetails({ settings, blocks, sentBefore }: PlannedParts): JsonObject | undefined {
  if (!marksCache(settings) || asksForThreads(settings)) return undefined;
  const start = hasPrefix(settings) ? [0] : [];
  const ends = [...new Set([blocks, ...sentBefore])].filter((end) => end > 0);
  return { cache: [...ends.slice(0, maxMarks - start.length), ...start] };
}

/** Whether turnlog marks the requests with these settings. */
const marksCache = ({ cache = false }: Settings): boolean => cache !== false;

const hasPrefix = ({ instructions, tools }: Settings): boolean =>
  (instructions ?? "") !== "" || (isJsonList(tools) && tools.length > 0);

/** Content that is sent in a row, each with the place of its block in the input; -1 is before all blocks. */
export type SentContent = readonly { readonly said: JsonObject; readonly place: number }[];

/** Content in the order in which the model reads it, with the marks that were decided. */
export function markedForCache(
  sent: readonly SentContent[],
  { cache }: Settings,
  details: JsonObject | undefined,
): readonly SentContent[] {
  const ends = details?.["cache"];
  if (!isJsonList(ends)) return sent;
  const takers = sent.flat().filter(({ said }) => canBeMarked(said));
  // Copies of a block may be one object, but what is sent of them stands by itself.
  const marked = new Set(ends.map((end) => takers.findLast(({ place }) => typeof end === "number" && place < end)));
  const ttl = isJsonObject(cache) ? cache["ttl"] : undefined;
  const mark = { type: "ephemeral", ...(ttl === undefined ? {} : { ttl }) };
  return sent.map((list) =>
    list.map((each) => (marked.has(each) ? { ...each, said: { ...each.said, cache_control: mark } } : each)),
  );
}

/** Thinking and empty texts are refused with a mark; of what is not known nobody knows. A tool has no type, or that of Anthropic's. */
const canBeMarked = (content: JsonObject): boolean =>
  content["input_schema"] !== undefined || (markable.has(content["type"] ?? null) && !isEmptyText(content));

const markable: ReadonlySet<JsonValue> = new Set([
  "text",
  "image",
  "document",
  "search_result",
  "tool_use",
  "tool_result",
]);

/** Content without the marks that it came with. */
export const unmarked = (content: readonly JsonValue[]): readonly JsonObject[] =>
  content.filter(isJsonObject).map(({ cache_control: _, ...block }) => {
    const inner = block["content"];
    return isJsonList(inner) ? { ...block, content: unmarked(inner) } : block;
  });
