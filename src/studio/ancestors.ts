import { changesEarlier } from "../domain/events/changes-earlier.ts";
import { type ConversationId, conversationStream } from "../domain/ids.ts";
import { isErased } from "../log/codec/erased.ts";
import type { EventLog } from "../log/codec/event-log.ts";
import { forksOf } from "../log/history/lineage.ts";
import type { StoredEnvelope } from "../log/ports/event-store.ts";
import { ConversationDamagedError } from "../projections/damage.ts";

/** Whether what was read before this event has been erased, in whole or in part, or left out since. */
export const changesWhatWasRead = (envelope: StoredEnvelope): boolean => isErased(envelope) || changesEarlier(envelope);

/** The ancestors of a fork. An event that a fork inherits is skipped or erased in the ancestor's stream, and the fork's own says nothing of it. */
export class Ancestors {
  readonly #log: EventLog;
  /** The newest revision that was seen, by stream. */
  readonly #seen: Map<string, number>;
  #haveChanged = false;

  private constructor(log: EventLog, seen: Map<string, number>) {
    this.#log = log;
    this.#seen = seen;
  }

  /** Called before the conversation is read, so that nothing is missed that comes meanwhile. */
  static async of(log: EventLog, id: ConversationId): Promise<Ancestors> {
    const seen = new Map<string, number>();
    try {
      for (const { stream, revision } of await forksOf(log, conversationStream(id)))
        seen.set(stream, (await log.store.head(stream))?.revision ?? revision);
    } catch (error) {
      // Without its ancestors, a fork cannot be read at all: its page says so.
      if (!(error instanceof ConversationDamagedError)) throw error;
    }
    return new Ancestors(log, seen);
  }

  /** Whether something was skipped or erased there since. */
  async haveChanged(): Promise<boolean> {
    for (const [stream, seen] of this.#seen) {
      const head = await this.#log.store.head(stream);
      if (head === null || head.revision <= seen) continue;
      for await (const envelope of this.#log.store.readStream(stream, { from: seen + 1 })) {
        this.#haveChanged ||= changesWhatWasRead(envelope);
        this.#seen.set(stream, envelope.revision);
      }
    }
    return this.#haveChanged;
  }
}
