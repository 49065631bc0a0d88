import type { TurnlogStore } from "../../conversation/turnlog-store.ts";
import { type ConversationId, conversationStream } from "../../domain/ids.ts";
import type { VerifiedDocument } from "./page-documents.ts";

type Last = VerifiedDocument["last"];

/** What this studio verified, and when: it says nothing about what it did not check. */
export class Verifications {
  readonly #store: Pick<TurnlogStore, "log" | "codecs">;
  readonly #clock: () => number;
  readonly #last = new Map<ConversationId, NonNullable<Last>>();

  constructor(store: Pick<TurnlogStore, "log" | "codecs">, clock: () => number = Date.now) {
    this.#store = store;
    this.#clock = clock;
  }

  last(id: ConversationId): Last {
    return this.#last.get(id) ?? null;
  }

  async check(id: ConversationId): Promise<Last> {
    const { verification } = await import("../../operations/audit/verify.ts");
    const { isSound, problems, heads } = await verification(this.#store.log.store, {
      codecs: this.#store.codecs,
      conversations: [id],
    });
    const at = new Date(this.#clock()).toISOString();
    const problem = problems.find(({ conversation }) => conversation === id) ?? problems[0];
    const head = heads.get(conversationStream(id))?.revision ?? 0;
    const last = { at, isSound, revision: problem?.revision ?? head, problem: problem?.message ?? null };
    this.#last.set(id, last);
    return last;
  }
}
