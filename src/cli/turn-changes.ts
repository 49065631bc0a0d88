import type { Conversation } from "../conversation/conversation.ts";
import type { TurnlogStore } from "../conversation/turnlog-store.ts";
import type { RecordedEvent } from "../domain/events/recorded.ts";
import { conversationStream } from "../domain/ids.ts";
import { Turn } from "../domain/turn.ts";
import { type TurnDifference, turnDifference } from "../domain/turn-difference.ts";
import { skippedIn } from "../log/history/lineage.ts";
import { SkippedEvents } from "../log/history/skipped-events.ts";
import { type ClientTurnView, clientTurn } from "../projections/client-turn.ts";
import { ConversationDamagedError } from "../projections/damage.ts";
import { isEmptyDifference } from "./difference.ts";

/** What an event changed, and the Turns before and after it. */
export type TurnChange = { readonly difference: TurnDifference; readonly from: Turn; readonly to: Turn };

/**
 * Tells event by event what changed of the Turn: of the one that is handed on while a run is open, with what waits for its
 * end; else of the committed one. From damage on it is unknown.
 */
export class TurnChanges {
  readonly #skipped: SkippedEvents;
  readonly #view: ClientTurnView;
  #before = Turn.empty;
  #isLost = false;

  private constructor(stream: string, skipped: SkippedEvents) {
    this.#view = clientTurn.initial(stream);
    this.#skipped = skipped;
  }

  /** Before the first event of a conversation: a fork goes on from what its ancestors left. */
  static async of({ log }: TurnlogStore, conversation: Conversation): Promise<TurnChanges> {
    const stream = conversationStream(conversation.id);
    const skipped = await unlessDamaged(skippedIn(log, stream));
    const changes = new TurnChanges(stream, skipped ?? new SkippedEvents());
    const isRead = await unlessDamaged(changes.#takeAncestors(conversation, stream));
    changes.#isLost = isRead === null;
    return changes;
  }

  /** Whether damage was come to. */
  get isLost(): boolean {
    return this.#isLost;
  }

  /** What the next event changed; null where that is nothing, or not known. */
  take(recorded: RecordedEvent): TurnChange | null {
    if (this.#isLost || this.#skipped.has(recorded.stream, recorded.revision)) return null;
    try {
      clientTurn.apply(this.#view, recorded);
    } catch (error) {
      if (!(error instanceof ConversationDamagedError)) throw error;
      this.#isLost = true;
      return null;
    }
    const { run, committed } = this.#view;
    const [from, to] = [this.#before, run === null ? committed : run.turns.get(run.turns.newest).concat(run.pending)];
    this.#before = to;
    const difference = from === to ? null : turnDifference(from, to);
    return difference === null || isEmptyDifference(difference) ? null : { difference, from, to };
  }

  async #takeAncestors(conversation: Conversation, own: string): Promise<true> {
    for await (const recorded of conversation.history(0)) if (recorded.stream !== own) this.take(recorded);
    return true;
  }
}

async function unlessDamaged<T>(work: Promise<T>): Promise<T | null> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof ConversationDamagedError) return null;
    throw error;
  }
}
