import type { AppendCall, Client } from "./client.ts";
import { EsdbFailure, esdbFailureOf, TimeoutFailure } from "./failure.ts";
import type { AppendAnswer, BatchAppendReq, BatchAppendResp, Messages } from "./messages.ts";

type Waiting = { readonly resolve: (answer: BatchAppendResp) => void; readonly reject: (failure: EsdbFailure) => void };

/** A call that carries appends and their answers, in any order. */
type BatchStream = {
  readonly call: AppendCall;
  readonly waitingById: Map<string, Waiting>;
  isOver: boolean;
  answers: number;
};

/**
 * Sends all appends of a connection on one call, as the client itself does, but each with its own time limit. After an error
 * a call takes no more appends, and ends when its pending ones are answered; the next append
 * opens another call on the current connection. (The client has no limit here, keeps its call, and rejects the pending appends of
 * its other instances.)
 */
export class AppendChannel {
  readonly #client: Client;
  readonly #messages: Messages;
  readonly #batches = new Set<BatchStream>();
  #current: BatchStream | null = null;
  #opening: Promise<BatchStream> | null = null;

  constructor(client: Client, messages: Messages) {
    this.#client = client;
    this.#messages = messages;
  }

  /**
   * Sends one append, and sets its correlation id.
   *
   * @throws {EsdbFailure} of kind `passing` if there was no answer within the limit: the events may have been written.
   */
  async send(request: BatchAppendReq, limitMs: number): Promise<AppendAnswer> {
    const id = crypto.randomUUID();
    this.#messages.correlate(request, id);
    const late = Promise.withResolvers<never>();
    const sent: { batch: BatchStream | null; answersBefore: number; isLate: boolean } = {
      batch: null,
      answersBefore: 0,
      isLate: false,
    };
    const giveUp = (): void => {
      sent.isLate = true;
      late.reject(new TimeoutFailure(limitMs));
    };
    // If the event loop was blocked, an answer may have arrived that was not processed yet.
    const timer = setTimeout(() => setImmediate(giveUp), limitMs);
    try {
      const batch = await Promise.race([this.#openBatch(), late.promise]);
      sent.batch = batch;
      sent.answersBefore = batch.answers;
      return this.#messages.readAnswer(await Promise.race([ask(batch, id, request), late.promise]));
    } catch (error) {
      const failure = esdbFailureOf(error);
      if (sent.batch !== null && failure.kind === "passing") {
        // If the call answered other appends, the server is there.
        const isDead = !sent.isLate || sent.batch.answers === sent.answersBefore;
        this.#retire(sent.batch);
        if (isDead) void this.#client.reconnect(sent.batch.call);
      }
      throw failure;
    } finally {
      clearTimeout(timer);
      if (sent.batch !== null) this.#forget(sent.batch, id);
    }
  }

  close(): void {
    for (const { call } of this.#batches) call.cancel();
  }

  async #openBatch(): Promise<BatchStream> {
    // Reads may have found another leader meanwhile.
    if (this.#current !== null && !this.#client.isCurrent(this.#current.call)) this.#retire(this.#current);
    if (this.#current !== null) return this.#current;
    this.#opening ??= this.#open();
    return this.#opening;
  }

  async #open(): Promise<BatchStream> {
    try {
      const call = await this.#client.startCall((grpc, ...args) => grpc.batchAppend(...args));
      const batch: BatchStream = { call, waitingById: new Map(), isOver: false, answers: 0 };
      this.#watch(batch);
      this.#batches.add(batch);
      this.#current = batch;
      return batch;
    } finally {
      this.#opening = null;
    }
  }

  #watch(batch: BatchStream): void {
    const end = (error: unknown): void => {
      batch.isOver = true;
      this.#batches.delete(batch);
      if (this.#current === batch) this.#current = null;
      for (const { reject } of batch.waitingById.values()) reject(esdbFailureOf(error));
      batch.waitingById.clear();
    };
    batch.call.on("data", (answer: BatchAppendResp) => {
      batch.answers += 1;
      batch.waitingById.get(this.#messages.correlationOf(answer))?.resolve(answer);
    });
    batch.call.on("error", end);
    batch.call.on("end", () => {
      end(new EsdbFailure("passing", "the server ended the call"));
    });
  }

  /** The call takes no more appends, and ends when none are pending. */
  #retire(batch: BatchStream): void {
    if (this.#current === batch) this.#current = null;
    if (batch.waitingById.size === 0 && !batch.isOver) batch.call.cancel();
  }

  #forget(batch: BatchStream, id: string): void {
    batch.waitingById.delete(id);
    if (this.#current !== batch) this.#retire(batch);
  }
}

function ask(batch: BatchStream, id: string, request: BatchAppendReq): Promise<BatchAppendResp> {
  return new Promise((resolve, reject) => {
    if (batch.isOver) {
      reject(new EsdbFailure("passing", "the connection was lost before it was sent"));
      return;
    }
    batch.waitingById.set(id, { resolve, reject });
    batch.call.write(request);
  });
}
