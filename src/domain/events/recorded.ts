import type { Actor } from "../actor.ts";
import type { ConversationEvent, ConversationEventOf } from "./event.ts";

/** What a caller wants to happen, and who does it in which run and frame; `decide` says whether it does. */
export type ProposedEvent = {
  /** A damaged event is skipped without a decision: there is no state to decide on. */
  readonly event: Exclude<ConversationEvent, ConversationEventOf<"EventSkipped">>;
  readonly actor: Actor;
  readonly runId?: string;
  readonly frame?: string;
  /** When it happened, in milliseconds, where layers were told a time; by default when it is prepared. */
  readonly at?: number;
};

/** An event as projections see it: read, current, and with what its envelope says. */
export type RecordedEvent = {
  readonly stream: string;
  readonly revision: number;
  readonly id: string;
  readonly at: string;
  readonly actor: Actor;
  readonly runId: string | null;
  readonly frame: string | null;
  readonly event: ConversationEvent;
};
