import type { Actor } from "../actor.ts";
import type { ConversationEvent } from "./event.ts";

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
