import { TurnlogError } from "../../base/turnlog-error.ts";
import { type ConversationId, conversationIdSchema, conversationStream } from "../../domain/ids.ts";
import type { EventLog } from "../../log/codec/event-log.ts";
import { MovingFold } from "./moving-fold.ts";
import { Reel, type ReelOptions } from "./reel.ts";

/** A conversation that was looked at, so that the next look costs little. */
export type HeldConversation = {
  readonly id: ConversationId;
  readonly reel: Reel;
  readonly fold: MovingFold;
};

/** How many conversations stay in memory. */
const mostHeld = 8;

export class HeldConversations {
  readonly #log: EventLog;
  readonly #options: ReelOptions;
  /** The one that was looked at last comes last. */
  readonly #held = new Map<ConversationId, Promise<HeldConversation>>();

  constructor(log: EventLog, options: ReelOptions = {}) {
    this.#log = log;
    this.#options = options;
  }

  /**
   * A conversation as it is now.
   *
   * @throws {TurnlogError} `not-found` if there is none with this id.
   */
  async get(text: string): Promise<HeldConversation> {
    const id = conversationIdSchema.safeParse(text);
    const head = id.success ? await this.#log.store.head(conversationStream(id.data)) : null;
    if (!id.success || head === null)
      throw new TurnlogError("not-found", `there is no conversation ${text.slice(0, 140)}`);
    const known = this.#held.get(id.data);
    const held = known === undefined ? await this.#open(id.data) : await known;
    this.#touch(id.data);
    if (known === undefined) return held;
    const seen = held.reel.head;
    if (seen?.revision === head.revision && seen.digest === head.digest) return held;
    // A store that was set back, or replaced by another, holds less than was seen.
    if (seen !== null && seen.revision >= head.revision) return this.#open(id.data);
    await held.reel.catchUp();
    // Erased texts have to leave the memory of this process, too.
    return held.reel.isOutdated ? this.#open(id.data) : held;
  }

  /** Forgets what was read. */
  forget(): void {
    this.#held.clear();
  }

  #touch(id: ConversationId): void {
    const held = this.#held.get(id);
    if (held === undefined) return;
    this.#held.delete(id);
    this.#held.set(id, held);
  }

  #open(id: ConversationId): Promise<HeldConversation> {
    const opening = this.#read(id);
    this.#held.delete(id);
    this.#held.set(id, opening);
    opening.catch(() => this.#held.delete(id));
    for (const oldest of this.#held.keys()) {
      if (this.#held.size <= mostHeld) break;
      this.#held.delete(oldest);
    }
    return opening;
  }

  async #read(id: ConversationId): Promise<HeldConversation> {
    const reel = await Reel.open(this.#log, id, this.#options);
    return { id, reel, fold: new MovingFold(this.#log, reel) };
  }
}
