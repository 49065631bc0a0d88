import { isJsonList, isJsonObject, type JsonObject, type JsonValue } from "../../base/json.ts";
import type { PlannedParts, Settings } from "../../engine/ports/codec.ts";
import { isEmptyText } from "./content-parts.ts";
import { asksForThreads, marksOnThreads } from "./threads.ts";

/** The number of cache breakpoints that the API accepts in one request (Anthropic's guide to prompt caching). */
const maxMarks = 4;

/**
 * The cache breakpoints of a request, each as the number of input blocks before it; 0 is after the tools and the system prompt. One
 * breakpoint is at the end, so that the next request finds its cache entry. Others are where earlier requests ended: the server has entries
 * there, but searches only 20 blocks of content back from a breakpoint, which one answer with its results may exceed.
 */
export function cacheDetails(planned: PlannedParts): JsonObject | undefined {
  const { settings, capabilities, anchor, blocks } = planned;
  const isThread = asksForThreads(settings);
  if (!marksCache(settings) || (isThread && capabilities[marksOnThreads] !== true)) return undefined;
  // A thread that is continued has the tools and the system prompt already.
  const start = anchor === null && hasPrefix(settings) ? [0] : [];
  const ends = [...new Set([blocks, ...planned.sentBefore])].filter((end) => end > 0);
  return { cache: [...ends.slice(0, maxMarks - start.length - (isThread ? reservedMarks : 0)), ...start] };
}

/** Of a request of a thread, the server is said to reserve one mark for itself (a 400 of autumn 2026). */
const reservedMarks = 1;

/** Whether turnlog sets cache breakpoints with these settings. */
const marksCache = ({ cache = false }: Settings): boolean => cache !== false;

const hasPrefix = ({ instructions, tools }: Settings): boolean =>
  (instructions ?? "") !== "" || (isJsonList(tools) && tools.length > 0);

/** Consecutive content, each item with the position of its block in the input; -1 is before all blocks. */
export type SentContent = readonly { readonly said: JsonObject; readonly place: number }[];

/** The content in the order in which the model reads it, with the recorded breakpoints. */
export function markedForCache(
  sent: readonly SentContent[],
  { cache }: Settings,
  details: JsonObject | undefined,
): readonly SentContent[] {
  const ends = details?.["cache"];
  if (!isJsonList(ends)) return sent;
  const takers = sent.flat().filter(({ said }) => canBeMarked(said));
  // Compares the wrappers and not the content, because copies of a block may share one content object.
  const marked = new Set(ends.map((end) => takers.findLast(({ place }) => typeof end === "number" && place < end)));
  const ttl = isJsonObject(cache) ? cache["ttl"] : undefined;
  const mark = { type: "ephemeral", ...(ttl === undefined ? {} : { ttl }) };
  return sent.map((list) =>
    list.map((each) => (marked.has(each) ? { ...each, said: { ...each.said, cache_control: mark } } : each)),
  );
}

/** The API refuses breakpoints on thinking and empty texts; unknown types get none. A tool has no type, or one of Anthropic's. */
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

/** The content without the breakpoints that it came with. */
export const unmarked = (content: readonly JsonValue[]): readonly JsonObject[] =>
  content.filter(isJsonObject).map(({ cache_control: _, ...block }) => {
    const inner = block["content"];
    return isJsonList(inner) ? { ...block, content: unmarked(inner) } : block;
  });
