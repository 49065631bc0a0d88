import type { Conversation } from "../conversation/conversation.ts";
import type { TurnlogStore } from "../conversation/turnlog-store.ts";
import { Walker } from "../conversation/walk.ts";
import { conversationStream } from "../domain/ids.ts";
import type { StoredEnvelope } from "../log/ports/event-store.ts";
import { differenceDocumentOf } from "./difference.ts";
import type { LoggedEvent } from "./documents/conversations.ts";
import type { FilteredEvent } from "./event-filter.ts";

type Asked = {
  readonly store: TurnlogStore;
  readonly conversation: Conversation;
  /** Whether every event comes with what it changed. */
  readonly isPatched: boolean;
};

/** Tells the events of one conversation as the log shows them, one after another from its first. */
export class EventTeller {
  readonly #walker: Walker;
  readonly #isPatched: boolean;

  private constructor(walker: Walker, isPatched: boolean) {
    this.#walker = walker;
    this.#isPatched = isPatched;
  }

  static async of({ store, conversation, isPatched }: Asked): Promise<EventTeller> {
    const parts = { changes: isPatched, bodies: null };
    return new EventTeller(await Walker.start(store.log, conversationStream(conversation.id), parts), isPatched);
  }

  /** Whether damage was come to, from which on nobody knows what events changed. */
  get isLost(): boolean {
    return this.#isPatched && this.#walker.isLost;
  }

  /** The next event: as it is told, and what a filter looks at. */
  async tell(envelope: StoredEnvelope): Promise<{ readonly told: LoggedEvent; readonly seen: FilteredEvent }> {
    const { changes, event, request: _, ...walked } = await this.#walker.take(envelope);
    const told = this.#isPatched ? { ...walked, changes: changes && differenceDocumentOf(changes) } : walked;
    return { told, seen: { ...told, data: event?.data ?? null } };
  }
}
