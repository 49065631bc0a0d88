import { randomUUID } from "node:crypto";
import type { AppendCall, Client } from "./client.ts";
import { Failure, failureOf, TimeoutFailure } from "./failure.ts";
import type { AppendAnswer, BatchAppendReq, BatchAppendResp, Messages } from "./messages.ts";

type Waiting = { readonly resolve: (answer: BatchAppendResp) => void; readonly reject: (failure: Failure) => void };

/** A call on which appends go out and answers come back, in any order. */
type BatchStream = {
  readonly call: AppendCall;
  readonly waitingById: Map<string, Waiting>;
  isOver: boolean;
  answers: number;
};

/**
 * All appends of a connection on one call, as the client itself sends them; but each with a time limit of its own. A lane
 * on which something went wrong takes no more appends, and ends when those that it has are answered; the next append
 * opens another on the connection of the day. (The client has no limit here, keeps to its call, and rejects what its
 * other instances wait for.)
 */
export class AppendChannel {
  readonly #client: Client;
  readonly #messages: Messages;
  readonly #lanes = new Set<BatchStream>();
  #lane: BatchStream | null = null;
  #opening: Promise<BatchStream> | null = null;

  constructor(client: Client, messages: Messages) {
    this.#client = client;
    this.#messages = messages;
  }

  /**
   * Sends one append, whose correlation id is set here.
   *
   * @throws {Failure} of kind `passing` when there was no answer within the limit: the events may have been written.
   */
  async send(request: BatchAppendReq, limitMs: number): Promise<AppendAnswer> {
    const id = randomUUID();
    this.#messages.correlate(request, id);
    const late = Promise.withResolvers<never>();
    const sent: { lane: BatchStream | null; answersBefore: number; isLate: boolean } = {
      lane: null,
      answersBefore: 0,
      isLate: false,
    };
    const timer = setTimeout(() => {
      sent.isLate = true;
      late.reject(new TimeoutFailure(limitMs));
    }, limitMs);
    try {
      const lane = await Promise.race([this.#openLane(), late.promise]);
      sent.lane = lane;
      sent.answersBefore = lane.answers;
      return this.#messages.readAnswer(await Promise.race([ask(lane, id, request), late.promise]));
    } catch (error) {
      const failure = failureOf(error);
      if (sent.lane !== null && failure.kind === "passing") {
        // A lane that answers others belongs to a server that is there.
        const isDead = !sent.isLate || sent.lane.answers === sent.answersBefore;
        this.#retire(sent.lane);
        if (isDead) void this.#client.reconnect(sent.lane.call);
      }
      throw failure;
    } finally {
      clearTimeout(timer);
      if (sent.lane !== null) this.#forget(sent.lane, id);
    }
  }

  close(): void {
    for (const { call } of this.#lanes) call.cancel();
  }

  async #openLane(): Promise<BatchStream> {
    // Reads may have found another leader meanwhile.
    if (this.#lane !== null && !this.#client.isCurrent(this.#lane.call)) this.#retire(this.#lane);
    if (this.#lane !== null) return this.#lane;
    this.#opening ??= this.#open();
    return this.#opening;
  }

  async #open(): Promise<BatchStream> {
    try {
      const call = await this.#client.startCall((grpc, ...args) => grpc.batchAppend(...args));
      const lane: BatchStream = { call, waitingById: new Map(), isOver: false, answers: 0 };
      this.#watch(lane);
      this.#lanes.add(lane);
      this.#lane = lane;
      return lane;
    } finally {
      this.#opening = null;
    }
  }

  #watch(lane: BatchStream): void {
    const end = (error: unknown): void => {
      lane.isOver = true;
      this.#lanes.delete(lane);
      if (this.#lane === lane) this.#lane = null;
      for (const { reject } of lane.waitingById.values()) reject(failureOf(error));
      lane.waitingById.clear();
    };
    lane.call.on("data", (answer: BatchAppendResp) => {
      lane.answers += 1;
      lane.waitingById.get(this.#messages.correlationOf(answer))?.resolve(answer);
    });
    lane.call.on("error", end);
    lane.call.on("end", () => {
      end(new Failure("passing", "the server ended the call"));
    });
  }

  /** It takes no more, and ends when nobody waits on it. */
  #retire(lane: BatchStream): void {
    if (this.#lane === lane) this.#lane = null;
    if (lane.waitingById.size === 0 && !lane.isOver) lane.call.cancel();
  }

  #forget(lane: BatchStream, id: string): void {
    lane.waitingById.delete(id);
    if (this.#lane !== lane) this.#retire(lane);
  }
}

function ask(lane: BatchStream, id: string, request: BatchAppendReq): Promise<BatchAppendResp> {
  return new Promise((resolve, reject) => {
    if (lane.isOver) {
      reject(new Failure("passing", "the connection was lost before it was sent"));
      return;
    }
    lane.waitingById.set(id, { resolve, reject });
    lane.call.write(request);
  });
}
