import { excerpt } from "../../base/printable.ts";
import { type Actor, withAlias } from "../../domain/actor.ts";
import type { Block } from "../../domain/block.ts";
import { blockFromJson } from "../../domain/block-json.ts";
import { isEndedBySkip } from "../../domain/decider/ended-by-skip.ts";
import { blocksIn } from "../../domain/events/blocks-in.ts";
import { type ConversationEvent, isRunEnd } from "../../domain/events/event.ts";
import type { RecordedEvent } from "../../domain/events/recorded.ts";

/** A block's kind in a word or two: `user`, `tool_call weather`, `reasoning`, `web_search_call`. */
export function blockLabel(block: Block): string {
  if (block.kind === "other") return excerpt(block.type, 40);
  return block.kind === "tool_call" ? `tool_call ${excerpt(block.name ?? block.type, 40)}` : block.kind;
}

/** An actor in a word: `shorten-results@1.2.0`, `weather`, `anthropic`, `user`. `describeActor` says more. */
export function actorLabel(actor: Actor): string {
  if (actor.kind === "middleware") return excerpt(`${actor.name}@${actor.version}`, 40);
  if (actor.kind === "engine" || actor.kind === "recovery") return actor.kind;
  if (actor.name === undefined) return withAlias(actor);
  return excerpt(actor.name, 40);
}

/** An endpoint by the beginning of its scope, provider and place, without the account: `openai-responses https://api.openai.com/v1`. */
export function endpointLabel(scope: string): string {
  const words = scope.split(" ");
  const end = words.findIndex((word) => word.includes("="));
  return excerpt(words.slice(0, end < 0 ? words.length : Math.max(1, end)).join(" "), 80);
}

/** The beginning of a foreign id, long enough to distinguish it from others, and accepted in its place. */
export const shortId = (id: string): string => excerpt(id, 1_000).slice(0, 20);

/** What is needed to describe events. */
export type BlockLabels = {
  /** The label of each block, for events that only refer to it. */
  readonly labels: Map<string, string>;
  /** The open run. */
  openRun: string | null;
};

/** What is asked of them to name a block. */
export type KnownLabels = Pick<ReadonlyMap<string, string>, "get">;

export const noLabels = (): BlockLabels => ({ labels: new Map(), openRun: null });

/** Follows events without describing them, which takes longer than everything else. */
export function noteLabels(view: BlockLabels, { event, runId }: RecordedEvent): void {
  for (const json of blocksIn(event)) view.labels.set(json.id, labelOf(blockFromJson(json), event, view));
  if (event.type === "RunStarted") view.openRun = runId;
  // A fork leaves its parent's run.
  if (event.type === "ConversationStarted") view.openRun = null;
  if (event.type === "EventSkipped" && isEndedBySkip(runId, view.openRun)) view.openRun = null;
  if (isRunEnd(event)) view.openRun = null;
}

/** A block's label, whether or not an event has contained the block. */
export const labelIn = (labels: KnownLabels, block: Block): string => labels.get(block.id ?? "") ?? blockLabel(block);

/** A tool's result is labelled with its tool, for readers who look for it. */
function labelOf(block: Block, event: ConversationEvent, { labels }: BlockLabels): string {
  if (event.type !== "ToolFinished")
    return block.kind === "tool_result" ? (labels.get(block.id ?? "") ?? block.kind) : blockLabel(block);
  return `tool_result ${labels.get(event.data.blockId)?.replace(/^tool_call /, "") ?? ""}`.trimEnd();
}
