import { nanoid } from "nanoid";
import type { JsonObject } from "../../base/json.ts";
import { sha256Hex } from "../../base/sha256.ts";
import {
  type InferenceRequest,
  type InferenceResponse,
  ProviderError,
  type RequestConnection,
} from "../../engine/stack/provider.ts";
import { type Deadline, interruption } from "../deadline.ts";
import type { Endpoint } from "../endpoint.ts";
import { openSocket } from "./open-socket.ts";
import { readReply } from "./read-reply.ts";
import { ResponsesSocket } from "./responses-socket.ts";

/** For tests: milliseconds of a clock that does not stand still while the machine sleeps, and how long a ping may go unanswered. */
export type SocketTiming = { readonly now?: () => number; readonly pongMs?: number };

/**
 * The WebSockets of one provider. Conversations share a connection, a lane each; one more is opened where the lanes of all are
 * taken, and for every conversation where the endpoint has no lanes. A connection is left before the server ends it, and
 * one on which something went wrong is never used again.
 */
export class SocketPool implements AsyncDisposable {
  readonly #endpoint: Endpoint;
  readonly #sockets = new Set<ResponsesSocket>();
  readonly #now: () => number;
  readonly #pongMs: number;
  readonly #stillborn = new WeakSet<ResponsesSocket>();
  readonly #byConversation = new Map<string, ResponsesSocket>();
  /** Who looks for a connection now: what was opened for one of them is not taken for another before it was used. */
  readonly #wanting = new Set<Wanted>();
  #opening: Promise<ResponsesSocket> | null = null;
  #change: PromiseWithResolvers<void> = Promise.withResolvers();
  /** How often in a row a connection could not be made, or broke. */
  #failures = 0;

  constructor(endpoint: Endpoint, { now = Date.now, pongMs = 5_000 }: SocketTiming = {}) {
    this.#endpoint = endpoint;
    this.#now = now;
    this.#pongMs = pongMs;
  }

  /** What a request of a conversation has to know of where it goes out. */
  connection(
    conversation: string,
    { hasLanes }: { readonly hasLanes: boolean },
  ): Omit<RequestConnection, "conversation"> {
    this.#retireOld();
    const socket = this.#byConversation.get(conversation);
    return {
      lives: socket?.takes(laneOf(conversation)) === true ? { socket: socket.id } : null,
      ...(hasLanes ? { details: { stream_id: laneOf(conversation) } } : {}),
    };
  }

  /** Has a connection for the next request of a conversation. */
  async connect(
    conversation: string,
    { hasLanes, deadline }: { readonly hasLanes: boolean; readonly deadline: Deadline },
  ) {
    const wanted = { conversation, lane: laneOf(conversation), lives: null, isNamed: hasLanes };
    this.#wanting.add(wanted);
    try {
      for (let socket = this.#known(wanted); socket === null; socket = this.#known(wanted)) {
        if (deadline.signal.aborted) throw notSent(deadline);
        const change = this.#change.promise;
        await aborting(deadline, this.#mayOpen(wanted) ? this.#openFor(conversation) : change);
      }
    } finally {
      this.#leave(wanted);
    }
  }

  /** @throws {ProviderError} `rejected` where it was not sent. */
  async infer(
    { connection, onDelta }: InferenceRequest,
    { bodyText, deadline }: { readonly bodyText: string; readonly deadline: Deadline },
  ): Promise<InferenceResponse> {
    const { conversation, lives, details } = connection ?? { conversation: "", lives: null };
    const lane = laneOf(conversation);
    const wanted = { conversation, lane, lives, isNamed: details?.["stream_id"] !== undefined };
    this.#wanting.add(wanted);
    const socket = await this.#acquire(wanted, deadline).finally(() => {
      this.#leave(wanted);
    });
    const reply = socket.send(lane, bodyText);
    try {
      const response = await readReply(reply, {
        limits: this.#endpoint.limits,
        deadline,
        onDelta,
      });
      this.#failures = 0;
      return { response, lives: { socket: socket.id } };
    } catch (error) {
      // After it has refused a request the server waits for the next one. Whatever else went wrong, frames may still come.
      if (!isAnswer(error) || reply.isCutShort) socket.retire();
      if (error instanceof ProviderError && error.kind === "stream-cut") this.#failures += 1;
      const isFull = hasCode(error, "websocket_stream_limit_reached");
      if (isFull) socket.refuse(lane);
      throw isFull || hasExpired(error) ? onAnother(error) : error;
    } finally {
      socket.usedAt = this.#now();
      socket.release(lane);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#opening?.catch(() => undefined);
    await Promise.all([...this.#sockets].map((socket) => socket.close()));
    this.#sockets.clear();
    this.#byConversation.clear();
  }

  /** A connection on which the lane is the request's from here on. */
  async #acquire(wanted: Wanted, deadline: Deadline): Promise<ResponsesSocket> {
    const { conversation, lane, lives } = wanted;
    for (;;) {
      if (deadline.signal.aborted) throw notSent(deadline);
      const change = this.#change.promise;
      const socket = lives === null ? this.#known(wanted) : this.#planned(lives);
      // What is sent into nothing is waited for to the end of its time, and then nobody knows its fate.
      if (socket?.isIdle === true && this.#now() - socket.usedAt > quietMs) {
        socket.usedAt = this.#now();
        if (!(await socket.answersPing(this.#pongMs))) continue;
      }
      if (socket?.admit(lane) === true) {
        socket.usedAt = this.#now();
        this.#byConversation.set(conversation, socket);
        return socket;
      }
      const isOpening = socket === null && this.#mayOpen(wanted);
      await aborting(deadline, isOpening ? this.#openFor(conversation) : change);
    }
  }

  /** The connection that a request was planned for: on another one it would continue from what is not there. */
  #planned(lives: JsonObject): ResponsesSocket {
    const socket = [...this.#sockets].find(({ id, isOpen }) => id === lives["socket"] && isOpen);
    if (socket !== undefined) return socket;
    const text = "the WebSocket that the request was planned for is closed: nothing was sent";
    throw new ProviderError(text, { kind: "connection", outcome: "rejected" });
  }

  /** Its own, or one that others have and that takes it too. */
  #known({ conversation, lane, isNamed }: Wanted): ResponsesSocket | null {
    this.#retireOld();
    const own = this.#byConversation.get(conversation);
    if (own?.takes(lane) === true) return own;
    const others = isNamed ? [...this.#sockets].filter(({ hasLanes }) => hasLanes !== false) : [];
    return others.find((socket) => socket.takes(lane)) ?? null;
  }

  /** Those that the server would end before a request that is sent now is answered for sure. */
  #retireOld(): void {
    const now = this.#now();
    for (const socket of this.#sockets) if (socket.isFresh && socket.retireAt <= now) socket.retire();
  }

  #mayOpen({ isNamed }: Wanted): boolean {
    const fresh = [...this.#sockets].filter(({ isFresh }) => isFresh);
    // Whether the endpoint has lanes is being found out.
    const isFindingOut = isNamed && fresh.some(({ hasLanes, isIdle }) => hasLanes === null && !isIdle);
    const hasRoom = fresh.length < maxSockets || fresh.some((socket) => this.#isSpare(socket));
    return this.#opening === null && !isFindingOut && hasRoom;
  }

  /** Whether it may be closed for another one: nobody is answered on it, or is about to ask. */
  #isSpare(socket: ResponsesSocket): boolean {
    const isAwaited = [...this.#wanting].some(({ conversation }) => this.#byConversation.get(conversation) === socket);
    return socket.isIdle && !isAwaited;
  }

  #leave(wanted: Wanted): void {
    this.#wanting.delete(wanted);
    this.#wake();
  }

  async #openFor(conversation: string): Promise<void> {
    const fresh = [...this.#sockets].filter(({ isFresh }) => isFresh);
    if (fresh.length >= maxSockets) fresh.find((socket) => this.#isSpare(socket))?.retire();
    this.#opening = this.#open();
    try {
      const socket = await this.#opening;
      this.#byConversation.set(conversation, socket);
      this.#noteStillborn(socket);
    } finally {
      this.#opening = null;
      this.#wake();
    }
  }

  async #open(): Promise<ResponsesSocket> {
    if (this.#failures >= maxFailures) throw this.#givenUp(null);
    let socket: ResponsesSocket;
    try {
      const openedAt = this.#now();
      const opened = await openSocket(this.#endpoint);
      const onChange = (): void => {
        if (!socket.isOpen) this.#forget(socket);
        this.#wake();
      };
      const { limits } = this.#endpoint;
      // Counted from before the handshake, so that the server counts no more.
      const retireAt = openedAt + retireAfterMs(this.#endpoint);
      socket = new ResponsesSocket({ id: `sck_${nanoid()}`, ...opened, limits, openedAt, retireAt, onChange });
    } catch (error) {
      if (!(error instanceof ProviderError) || error.kind !== "connection") throw error;
      this.#failures += 1;
      throw this.#failures >= maxFailures ? this.#givenUp(error) : error;
    }
    this.#sockets.add(socket);
    return socket;
  }

  /** The next run tries again. */
  #givenUp(cause: ProviderError | null): ProviderError {
    this.#failures = 0;
    const last = cause === null ? "" : `: ${cause.message}`;
    const text = `WebSockets to the provider failed ${maxFailures} times in a row${last}`;
    return new ProviderError(text, { kind: "transport-unavailable", outcome: "rejected", cause });
  }

  #forget(socket: ResponsesSocket): void {
    if (this.#sockets.delete(socket)) this.#noteStillborn(socket);
    for (const [conversation, each] of this.#byConversation)
      if (each === socket) this.#byConversation.delete(conversation);
  }

  /** A server that takes connections and ends them has none: without this it would be given one after another. */
  #noteStillborn(socket: ResponsesSocket): void {
    if (!socket.isStillborn || this.#stillborn.has(socket)) return;
    this.#stillborn.add(socket);
    this.#failures += 1;
  }

  #wake(): void {
    this.#change.resolve();
    this.#change = Promise.withResolvers();
  }
}

/** Waits no longer than the deadline stands; then null. */
async function aborting<T>({ signal }: Deadline, work: Promise<T>): Promise<T | null> {
  const { promise, resolve } = Promise.withResolvers<null>();
  const onAbort = (): void => {
    resolve(null);
  };
  if (signal.aborted) onAbort();
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    return await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

type Wanted = {
  readonly conversation: string;
  readonly lane: string;
  readonly lives: JsonObject | null;
  readonly isNamed: boolean;
};

/** What a lane is called: the server learns nothing of the conversation's id, and takes every one. */
const laneOf = (conversation: string): string => `turnlog-${sha256Hex(conversation).slice(0, 24)}`;

/** More conversations at once than this wait where the endpoint has no lanes. */
const maxSockets = 16;

/** After such a pause a connection is pinged before it is used: networks let go of those that are silent for some minutes. */
const quietMs = 30_000;

/** After so many failures in a row HTTP is tried. */
const maxFailures = 3;

/** The server ends a connection after 60 minutes: what was begun before has to be answered by then. */
const retireAfterMs = ({ timeoutMs }: Endpoint): number =>
  Math.max(30, 60 - Math.max(5, Math.ceil(timeoutMs / 60_000))) * 60_000;

/** The server's own words about the request; after them the connection is as good as before, but for its age. */
const isAnswer = (error: unknown): boolean =>
  error instanceof ProviderError && error.body !== null && !hasExpired(error);

const hasExpired = (error: unknown): error is ProviderError => hasCode(error, "websocket_connection_limit_reached");

const hasCode = (error: unknown, code: string): error is ProviderError =>
  error instanceof ProviderError && error.providerCode === code;

/** It was refused for the connection's sake alone, which is too old or has too many lanes: another one takes it. */
const onAnother = ({ message, status, providerCode, body }: ProviderError): ProviderError =>
  new ProviderError(message, { kind: "connection", outcome: "rejected", status, providerCode, body });

function notSent(deadline: Deadline): ProviderError {
  const { message, kind, cause } = interruption(deadline) ?? {
    ...{ message: "the request was aborted", kind: "aborted", cause: undefined },
  };
  return new ProviderError(`${message}: it was not sent`, { kind, outcome: "rejected", cause });
}
