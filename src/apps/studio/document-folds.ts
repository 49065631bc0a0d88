import { type CacheTrail, copiedTrail, emptyTrail, notePrompt } from "../../analysis/costs/cache-trail.ts";
import type { BlockLabels } from "../../analysis/descriptions/labels.ts";
import { copiedMap, GrowingMap } from "../../base/growing-map.ts";
import type { RecordedEvent } from "../../domain/events/recorded.ts";
import { isAside } from "../../domain/frame.ts";
import type { Turn } from "../../domain/turn.ts";
import type { ConversationView } from "../../projections/views/conversation-view.ts";
import { conversationView } from "../../projections/views/conversation-view.ts";
import { copiedView, copyableView } from "../../projections/views/copied-view.ts";
import { ShowFolds } from "../documents/show-document.ts";

/** The fold of a conversation at a revision, and what documents need besides. */
export type DocumentFolds = {
  readonly view: ConversationView;
  /** Follows by itself (`noteLabels`): a log is shown beyond damage, too. */
  readonly words: BlockLabels;
  readonly show: ShowFolds;
  /** The Turns of contexts, which `why` compares. */
  readonly contextTurns: Map<string, Turn>;
  /** The requests so far, and how they were answered: prompt caches depend on them. */
  readonly trail: CacheTrail;
  last: RecordedEvent | null;
};

export const emptyFolds = (stream: string): DocumentFolds => ({
  view: copyableView(stream),
  words: { labels: new GrowingMap(), openRun: null },
  show: new ShowFolds(stream),
  contextTurns: new GrowingMap(),
  trail: emptyTrail(),
  last: null,
});

/** Applies the next event. */
export function applyToFolds(folds: DocumentFolds, recorded: RecordedEvent): void {
  conversationView.apply(folds.view, recorded);
  folds.show.take(recorded);
  noteContexts(folds, recorded);
  notePrompt(folds.trail, recorded, folds.view);
  folds.last = recorded;
}

/** Folds that go on by themselves: neither they nor the originals change with the others' next events. */
export function copiedFolds({ view, words, show, contextTurns, trail, last }: DocumentFolds): DocumentFolds {
  const copy = copiedView(view);
  return {
    view: copy,
    words: { ...words, labels: copiedMap(words.labels) },
    show: show.copy(),
    contextTurns: copiedMap(contextTurns),
    trail: copiedTrail(trail, {
      from: view.client.run?.turns.passes ?? null,
      to: copy.client.run?.turns.passes ?? null,
    }),
    last,
  };
}

function noteContexts({ view, contextTurns }: DocumentFolds, { event, frame }: RecordedEvent): void {
  if (event.type !== "ResponseReceived") return;
  for (const { context, turn } of view.newest.values()) contextTurns.set(context.inferenceId, turn);
  const answered = isAside(frame) ? null : view.client.run?.turns.response(event.data.inferenceId);
  if (answered != null) contextTurns.set(event.data.inferenceId, answered);
}
