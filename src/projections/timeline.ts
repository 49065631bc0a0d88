import type { Actor } from "../domain/actor.ts";
import type { ConversationEvent } from "../domain/events/event.ts";
import { type BlockLabels, noteLabels } from "./block-labels.ts";
import { describeEvent } from "./describe-event.ts";
import { byStream, type Projection } from "./projection.ts";

/** One event in words. */
type TimelineRow = {
  readonly stream: string;
  readonly revision: number;
  readonly at: string;
  readonly type: ConversationEvent["type"];
  readonly actor: Actor;
  readonly runId: string | null;
  readonly frame: string | null;
  readonly words: string;
};

export type TimelineView = BlockLabels & { readonly rows: TimelineRow[] };

/** What happened, one row an event. */
export const timeline: Projection<TimelineView> = {
  name: "timeline",
  version: 1,
  lineage: "inherit",
  key: byStream,
  initial: () => ({ rows: [], labels: new Map(), isRunOpen: false }),
  apply(view, recorded) {
    const { stream, revision, at, actor, runId, frame, event } = recorded;
    noteLabels(view, recorded);
    const words = describeEvent(view, recorded);
    view.rows.push({ stream, revision, at, type: event.type, actor, runId, frame, words });
    return view;
  },
};
