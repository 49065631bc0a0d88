import { randomUUID } from "node:crypto";
import type { BatchAppendReq, BatchAppendResp } from "./driver.ts";
import { Failure, failureOf, failureOfAppend, Silence } from "./failure.ts";
import type { Position } from "./position.ts";
import type { AppendCall, Transport } from "./transport.ts";

/** What the server answered: the revision and place of the last event, or that the stream is not as expected. */
export type AppendAnswer =
  | { readonly status: "appended"; readonly revision: number; readonly position: Position | null }
  | { readonly status: "wrong-expected" };

type Waiting = { readonly resolve: (answer: BatchAppendResp) => void; readonly reject: (failure: Failure) => void };

/** A call on which appends go out and answers come back, in any order. */
type Lane = { readonly call: AppendCall; readonly waitingById: Map<string, Waiting>; isOver: boolean };

/**
 * All appends of a connection on one call, as the client itself sends them; but each with a time limit, and each told
 * of the end of its own call only. (The client has no limit here, and rejects what its other instances wait for.)
 */
export class AppendChannel {
  readonly #transport: Pick<Transport, "driver" | "startCall" | "reconnect">;
  #lane: Lane | null = null;
  #opening: Promise<Lane> | null = null;
  #answers = 0;

  constructor(transport: Pick<Transport, "driver" | "startCall" | "reconnect">) {
    this.#transport = transport;
  }

  /**
   * Sends one append, whose correlation id is set here.
   *
   * @throws {Failure} of kind `passing` when there was no answer within the limit: the events may have been written.
   */
  async send(request: BatchAppendReq, limitMs: number): Promise<AppendAnswer> {
    const id = randomUUID();
    request.setCorrelationId(new this.#transport.driver.shared.UUID().setString(id));
    const answersBefore = this.#answers;
    const late = Promise.withResolvers<never>();
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      this.#giveUp(id, answersBefore);
      late.reject(new Silence(limitMs));
    }, limitMs);
    try {
      const answer = await Promise.race([this.#ask(id, request, () => isLate), late.promise]);
      return this.#answerOf(answer);
    } catch (error) {
      throw failureOf(error);
    } finally {
      clearTimeout(timer);
    }
  }

  close(): void {
    this.#lane?.call.cancel();
  }

  async #ask(id: string, request: BatchAppendReq, isLate: () => boolean): Promise<BatchAppendResp> {
    this.#opening ??= this.#lane === null ? this.#open() : null;
    const lane = this.#lane ?? (await this.#opening);
    if (isLate()) throw new Failure("passing", "the time was up before it was sent");
    if (lane === null || lane.isOver) throw new Failure("passing", "the connection was lost before it was sent");
    return new Promise((resolve, reject) => {
      lane.waitingById.set(id, { resolve, reject });
      lane.call.write(request);
    });
  }

  async #open(): Promise<Lane> {
    try {
      const lanes: Lane[] = [];
      await this.#transport.startCall((grpc, ...args) => {
        const lane: Lane = { call: grpc.batchAppend(...args), waitingById: new Map(), isOver: false };
        this.#watch(lane);
        lanes.push(lane);
        return lane.call;
      });
      const [lane] = lanes;
      if (lane === undefined) throw new Failure("passing", "there is no connection");
      if (!lane.isOver) this.#lane = lane;
      return lane;
    } finally {
      this.#opening = null;
    }
  }

  #watch(lane: Lane): void {
    const end = (error: unknown): void => {
      lane.isOver = true;
      if (this.#lane === lane) this.#lane = null;
      for (const { reject } of lane.waitingById.values()) reject(failureOf(error));
      lane.waitingById.clear();
    };
    lane.call.on("data", (answer: BatchAppendResp) => {
      this.#answers += 1;
      const id = answer.getCorrelationId()?.getString() ?? "";
      lane.waitingById.get(id)?.resolve(answer);
      lane.waitingById.delete(id);
    });
    lane.call.on("error", end);
    lane.call.on("end", () => {
      end(new Failure("passing", "the server ended the call"));
    });
  }

  /** Forgets an append that is late. A call that answered nothing since is given up, with whatever waits for it. */
  #giveUp(id: string, answersBefore: number): void {
    const lane = this.#lane;
    lane?.waitingById.delete(id);
    if (lane === null || this.#answers > answersBefore) return;
    lane.call.cancel();
    void this.#transport.reconnect();
  }

  #answerOf(answer: BatchAppendResp): AppendAnswer {
    const success = answer.getSuccess();
    if (success !== undefined) {
      const place = success.getPosition();
      return {
        status: "appended",
        revision: Number(success.getCurrentRevision()),
        position:
          place === undefined ? null : { commit: place.getCommitPosition(), prepare: place.getPreparePosition() },
      };
    }
    const error = answer.getError();
    const details = error?.getDetails();
    const type = details?.getTypeName() ?? "";
    if (type === "event_store.client.WrongExpectedVersion") return { status: "wrong-expected" };
    const { BadRequest } = this.#transport.driver.shared;
    const reason = details?.unpack((bytes) => BadRequest.deserializeBinary(bytes), "event_store.client.BadRequest");
    const failure = failureOfAppend(type, reason?.getMessage() ?? error?.getMessage() ?? "");
    // The server may not be the leader any more, and not know who is.
    if (failure.kind === "passing") void this.#transport.reconnect();
    throw failure;
  }
}
