import { messageOf } from "../../base/error-message.ts";
import { readModels } from "../../conversation/read-models.ts";
import { conversationOfStream } from "../../domain/ids.ts";
import type { Codecs } from "../../engine/recorded/recorded-request.ts";
import type { EventStore, Head } from "../../log/ports/event-store.ts";
import { verification } from "../../operations/audit/verify.ts";
import { erasureOrderDocuments } from "../documents/erasure-orders.ts";
import { verifyDocumentOf } from "../documents/verify-document.ts";
import type { AuditDocument, AuditHead, AuditHeadsPage, AuditProgress, AuditReport } from "./audit-documents.ts";
import { breathing } from "./breathing.ts";

type Options = {
  readonly codecs: Codecs;
  readonly isRedacted: boolean;
  readonly address: string;
  readonly clock?: () => number;
};

/** Verifies a store while a page looks on, and says what was erased of it. */
export class Audit {
  readonly #events: EventStore;
  readonly #codecs: Codecs;
  readonly #isPossible: boolean;
  readonly #address: string;
  readonly #clock: () => number;
  #running: { -readonly [Name in keyof AuditProgress]: number } | null = null;
  #last: AuditDocument["last"] = null;
  #heads: ReadonlyMap<string, Head> = new Map();
  #problem: string | null = null;

  constructor(events: EventStore, { codecs, isRedacted, address, clock = Date.now }: Options) {
    this.#events = events;
    this.#codecs = codecs;
    this.#isPossible = !isRedacted;
    this.#address = address;
    this.#clock = clock;
  }

  /** Begins a verification, unless one goes on; the document says how far it is. */
  async start(): Promise<void> {
    if (this.#running !== null || !this.#isPossible) return;
    const running = { events: 0, total: 0 };
    this.#running = running;
    running.total = (await countEvents(this.#events)).events;
    void this.#verify(running);
  }

  async #verify(running: { events: number; readonly total: number }): Promise<void> {
    const began = this.#clock();
    try {
      const { heads, ...found } = await verification(breathing(this.#events), {
        codecs: this.#codecs,
        readModels: this.#events.views === undefined ? [] : readModels(this.#events),
        onEvent() {
          running.events += 1;
        },
      });
      const document = verifyDocumentOf(found, { savedHeads: null, commandName: "turnlog" });
      const at = new Date(this.#clock()).toISOString();
      this.#last = { ...document, at, total: running.total, ms: this.#clock() - began };
      this.#heads = heads;
      this.#problem = null;
    } catch (error) {
      this.#problem = messageOf(error);
    } finally {
      this.#running = null;
    }
  }

  async document(): Promise<AuditDocument> {
    const running = this.#running;
    const about = { isPossible: this.#isPossible, last: this.#last, problem: this.#problem };
    const orders = await erasureOrderDocuments(this.#events);
    if (running !== null) return { ...about, running: { ...running }, events: null, conversations: null, orders };
    return { ...about, running: null, ...(await countEvents(this.#events)), orders };
  }

  /** The newest event of each stream, in the order of their names. */
  async heads({ from, n }: { readonly from: number; readonly n: number }): Promise<AuditHeadsPage> {
    const heads: AuditHead[] = [];
    let total = 0;
    for await (const { stream, head } of this.#events.heads()) {
      if (total >= from && total < from + n) heads.push(this.#headOf(stream, head));
      total += 1;
    }
    return { from, total, heads };
  }

  async report(): Promise<AuditReport> {
    const { heads } = await this.heads({ from: 0, n: Number.POSITIVE_INFINITY });
    const erasures = await erasureOrderDocuments(this.#events);
    return { version: 1, data: { store: this.#address, verified: this.#last, erasures, heads } };
  }

  #headOf(stream: string, { revision, digest }: Head): AuditHead {
    const right = this.#heads.get(stream);
    const isSame = right?.revision === revision && right.digest === digest;
    const problem = this.#last?.problems.some((each) => each.stream === stream) === true;
    const isRight = isSame ? !problem : problem ? false : null;
    return { stream, conversation: conversationOfStream(stream), revision, digest, isRight };
  }
}

async function countEvents(store: EventStore): Promise<{ readonly events: number; readonly conversations: number }> {
  const counts = { events: 0, conversations: 0 };
  for await (const { stream, head } of store.heads()) {
    counts.events += head.revision + 1;
    if (conversationOfStream(stream) !== null) counts.conversations += 1;
  }
  return counts;
}
