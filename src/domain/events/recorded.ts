import type { Actor } from "../actor.ts";
import type { ConversationEvent, ConversationEventOf } from "./event.ts";

/** An event that a caller proposes, with its actor, run and frame; `decide` accepts or rejects it. */
export type ProposedEvent = {
  /**
   * Without those that change how earlier events read: a damaged event is skipped without a decision, because there is no state to decide on,
   * and only a store can empty lines.
   */
  readonly event: Exclude<
    ConversationEvent,
    ConversationEventOf<"EventSkipped" | "AncestorEventsSkipped" | "LinesErased">
  >;
  readonly actor: Actor;
  readonly runId?: string | undefined;
  readonly frame?: string | undefined;
  /** When it happened, in milliseconds, if layers have already seen a time. Default: now, but never before the previous event. */
  readonly at?: number | undefined;
  /** Its id was generated at random for it, so earlier events need not be searched for that id. */
  readonly isIdNew?: boolean | undefined;
};

/** The part of an event that comes from its envelope. */
export type EventPlace = {
  readonly stream: string;
  readonly revision: number;
  readonly id: string;
  readonly at: string;
  readonly actor: Actor;
  readonly runId: string | null;
  readonly frame: string | null;
  /** Covers the event and all events before it in its stream. */
  readonly digest: string;
};

/** An event as projections see it: parsed, in its current version, and with its place. */
export type RecordedEvent = EventPlace & {
  readonly event: ConversationEvent;
  /** Some of its content was erased, and stand-ins are in its place (rule: Erasure). */
  readonly hasErased?: true;
};

/** Who skipped a damaged event (rule: Damage), why, and the revision of the `EventSkipped` in the same stream. */
export type SkippedBy = { readonly by: Actor; readonly reason: string; readonly skippedAt: number };

/** Replaces a skipped event, whose data is not read. */
export type EventHole = Omit<EventPlace, "actor"> & {
  /** Who made the event; null if that is damaged, too. */
  readonly actor: Actor | null;
  readonly event: SkippedBy & { readonly type: "skipped" };
};

/** An event read from a conversation, or the hole that a skip left. */
export type ReadEvent = RecordedEvent | EventHole;

/** Whether the event's data is not read, because an operator skipped it. */
export const isHole = (read: ReadEvent): read is EventHole => read.event.type === "skipped";
