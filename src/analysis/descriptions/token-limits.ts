import { grouped } from "../../base/counted.ts";
import { excerpt } from "../../base/printable.ts";
import type { ConversationEventOf } from "../../domain/events/event.ts";
import type { Compaction } from "../../domain/events/shared.ts";

/** How and why a Turn was shortened, in words. */
export function compactionWords({ how, because, tokens, limit }: Compaction): string {
  const what = compactedWords.get(how) ?? `made the Turn shorter (${excerpt(how, 40)})`;
  const counts =
    tokens === undefined ? "" : `: ${grouped(tokens)} tokens were counted, of ${grouped(limit ?? 0)} allowed`;
  return `${what} (${compactedBecause.get(because) ?? excerpt(because, 40)}${counts})`;
}

/** A run's token budget, in words. */
export function budgetWords({ maxInputTokens, maxTotalTokens, onExceeded }: Budget): string {
  const limits = [
    ...(maxInputTokens === undefined ? [] : [`${grouped(maxInputTokens)} tokens in a request`]),
    ...(maxTotalTokens === undefined ? [] : [`${grouped(maxTotalTokens)} tokens in all`]),
  ];
  return `${onExceeded === "warn" ? "warns over" : "ends over"} ${limits.join(", ")}`;
}

type Budget = NonNullable<ConversationEventOf<"RunStarted">["data"]["budget"]>;

const compactedWords: ReadonlyMap<string, string> = new Map([
  ["truncate-results", "cut tool results"],
  ["drop-exchanges", "left out the oldest exchanges"],
  ["server", "put what the server compacted in the place of what it was made of"],
  ["summarise", "put a summary in the place of the oldest exchanges"],
]);

const compactedBecause: ReadonlyMap<string, string> = new Map([
  ["before-request", "before a request"],
  ["after-run", "after the run"],
  ["too-long", "the request was refused as too long"],
  ["asked", "as it was asked to"],
]);
