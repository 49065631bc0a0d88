import type { Actor } from "../actor.ts";
import type { ConversationEvent, ConversationEventOf } from "./event.ts";

/** What a caller wants to happen, and who does it in which run and frame; `decide` says whether it does. */
export type ProposedEvent = {
  /** A damaged event is skipped without a decision: there is no state to decide on. */
  readonly event: Exclude<ConversationEvent, ConversationEventOf<"EventSkipped">>;
  readonly actor: Actor;
  readonly runId?: string | undefined;
  readonly frame?: string | undefined;
  /** When it happened, in milliseconds, where layers were told a time; by default now, never before the event before. */
  readonly at?: number | undefined;
  /** The id that it gives was drawn at random for it: no earlier event is asked whether it has that already. */
  readonly isIdNew?: boolean | undefined;
};

/** What its envelope says of an event. */
export type EventPlace = {
  readonly stream: string;
  readonly revision: number;
  readonly id: string;
  readonly at: string;
  readonly actor: Actor;
  readonly runId: string | null;
  readonly frame: string | null;
  /** Stands for the event, and for all before it in its stream. */
  readonly digest: string;
};

/** An event as projections see it: read, current, and with its place. */
export type RecordedEvent = EventPlace & { readonly event: ConversationEvent };

/** Who skipped a damaged event (rule: Damage), why, and the revision of the event that says so, in the same stream. */
export type SkippedBy = { readonly by: Actor; readonly reason: string; readonly skippedAt: number };

/** What a reader gets in place of a skipped event, whose data is not read. */
export type EventHole = Omit<EventPlace, "actor"> & {
  /** Who made the event; null where that is damaged, too. */
  readonly actor: Actor | null;
  readonly event: SkippedBy & { readonly type: "skipped" };
};

/** An event as it is read from a conversation, or the hole that a skip left. */
export type ReadEvent = RecordedEvent | EventHole;

/** Whether nothing is read of an event, because an operator skipped it. */
export const isHole = (read: ReadEvent): read is EventHole => read.event.type === "skipped";
