import { nanoid } from "nanoid";
import type { JsonObject } from "../../base/json.ts";
import type { InferenceRequest, InferenceResponse, RequestConnection } from "../../engine/ports/provider.ts";
import { ProviderError } from "../../engine/ports/provider-error.ts";
import { type Deadline, interruption } from "../http/deadline.ts";
import type { Endpoint } from "../http/endpoint.ts";
import { openSocket } from "./open-socket.ts";
import { readReply } from "./read-reply.ts";
import { ResponsesSocket } from "./responses-socket.ts";
import { aborting, laneOf, SocketLine, type Wanted } from "./socket-line.ts";

/** For tests: a clock in milliseconds that also runs while the machine sleeps, and the time limit for an answer to a ping. */
export type SocketTiming = { readonly now?: () => number; readonly pongMs?: number };

/**
 * The WebSockets of one provider. Conversations share a connection, one lane each. Another connection is opened when all lanes are taken,
 * or for every conversation if the endpoint has no lanes. A connection is retired before the server ends it, and never used again after an
 * error.
 */
export class SocketPool implements AsyncDisposable {
  readonly #endpoint: Endpoint;
  readonly #sockets = new Set<ResponsesSocket>();
  readonly #now: () => number;
  readonly #pongMs: number;
  readonly #stillborn = new WeakSet<ResponsesSocket>();
  readonly #byConversation = new Map<string, ResponsesSocket>();
  readonly #line = new SocketLine();
  #opening: Promise<ResponsesSocket> | null = null;
  /** How often in a row a connection could not be opened, or broke. */
  #failures = 0;

  constructor(endpoint: Endpoint, { now = Date.now, pongMs = 5_000 }: SocketTiming = {}) {
    this.#endpoint = endpoint;
    this.#now = now;
    this.#pongMs = pongMs;
  }

  /** Where the next request of a conversation goes out. */
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

  /** Opens or reserves a connection for the next request of a conversation. */
  async connect(
    conversation: string,
    { hasLanes, deadline }: { readonly hasLanes: boolean; readonly deadline: Deadline },
  ) {
    const wanted = this.#line.join({ conversation, lane: laneOf(conversation), lives: null, isNamed: hasLanes });
    try {
      await this.#held(wanted, deadline);
    } finally {
      this.#line.leave(wanted, { stays: true });
    }
  }

  /** @throws {ProviderError} `rejected` if it was not sent. */
  async infer(
    { connection, onDelta }: InferenceRequest,
    { bodyText, deadline }: { readonly bodyText: string; readonly deadline: Deadline },
  ): Promise<InferenceResponse> {
    const { conversation, lives, details } = connection ?? { conversation: "", lives: null };
    const lane = laneOf(conversation);
    const isNamed = details?.["stream_id"] !== undefined;
    const wanted = this.#line.join({ conversation, lane, lives, isNamed });
    const socket = await this.#acquire(wanted, deadline).finally(() => {
      this.#line.leave(wanted);
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
      // After it has refused a request, the server waits for the next one. After any other error, frames may still come.
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

  /** Returns a connection on which the lane is admitted. */
  async #acquire(wanted: Wanted, deadline: Deadline): Promise<ResponsesSocket> {
    for (;;) {
      const socket = await this.#held(wanted, deadline);
      const { change } = socket;
      // A request on a dead connection would wait until its deadline and end with an unknown outcome.
      if (socket.isIdle && this.#now() - socket.usedAt > quietMs) {
        socket.usedAt = this.#now();
        if (!(await socket.answersPing(this.#pongMs))) continue;
      }
      if (socket.admit(wanted.lane)) {
        socket.usedAt = this.#now();
        return socket;
      }
      await aborting(deadline, change);
    }
  }

  /**
   * Reserves the request's lane on a connection. Waiting requests queue, and only the first looks: if it finds none, the others would not
   * either.
   */
  async #held(wanted: Wanted, deadline: Deadline): Promise<ResponsesSocket> {
    for (;;) {
      if (deadline.signal.aborted) throw notSent(deadline);
      const { lives, conversation } = wanted;
      const socket = lives === null ? this.#known(wanted) : this.#planned(lives);
      if (socket !== null) {
        this.#byConversation.set(conversation, socket);
        this.#line.hold(wanted, socket);
        return socket;
      }
      await aborting(deadline, this.#mayOpen(wanted) ? this.#openFor(wanted) : this.#line.turn(wanted));
    }
  }

  /** The connection that a request was planned for: another one does not have the state that it continues from. */
  #planned(lives: JsonObject): ResponsesSocket {
    const socket = [...this.#sockets].find(({ id, isOpen }) => id === lives["socket"] && isOpen);
    if (socket !== undefined) return socket;
    const text = "the WebSocket that the request was planned for is closed: nothing was sent";
    throw new ProviderError(text, { kind: "connection", outcome: "rejected" });
  }

  /** The conversation's own connection, or a shared one that takes its lane. */
  #known({ conversation, lane, isNamed }: Wanted): ResponsesSocket | null {
    this.#retireOld();
    const own = this.#byConversation.get(conversation);
    if (own?.takes(lane) === true) return own;
    const others = isNamed ? [...this.#sockets].filter(({ hasLanes }) => hasLanes !== false) : [];
    return others.find((socket) => socket.takes(lane)) ?? null;
  }

  /** Retires the connections that the server might end before a new request is answered. */
  #retireOld(): void {
    const now = this.#now();
    for (const socket of this.#sockets) if (socket.isFresh && socket.retireAt <= now) socket.retire();
  }

  #mayOpen(wanted: Wanted): boolean {
    // Another request is finding out whether the endpoint has lanes.
    const isFindingOut =
      wanted.isNamed &&
      this.#fresh.some(({ hasLanes, isIdle, isAwaited }) => hasLanes === null && (!isIdle || isAwaited));
    if (this.#opening !== null || isFindingOut) return false;
    return this.#fresh.length < maxSockets || this.#leastUsed(wanted) !== null;
  }

  get #fresh(): readonly ResponsesSocket[] {
    return [...this.#sockets].filter(({ isFresh }) => isFresh);
  }

  /**
   * The connection to retire in favour of a new one: no request waits on it, and it is idle, unless all its lanes are taken. Such a
   * connection finishes its answers and closes then, because waiting for it to become idle might never end.
   */
  #leastUsed({ isNamed }: Wanted): ResponsesSocket | null {
    const mayDrain = isNamed && this.#sockets.size < maxOpen;
    const left = this.#fresh.filter(
      ({ isAwaited, isIdle, hasLanes }) => !isAwaited && (isIdle || (mayDrain && hasLanes === true)),
    );
    const [least = null] = left.sort((one, other) => one.inFlight - other.inFlight || one.usedAt - other.usedAt);
    return least;
  }

  async #openFor(wanted: Wanted): Promise<void> {
    if (this.#fresh.length >= maxSockets) this.#leastUsed(wanted)?.retire();
    this.#opening = this.#open();
    try {
      const socket = await this.#opening;
      this.#byConversation.set(wanted.conversation, socket);
      this.#line.hold(wanted, socket);
      this.#noteStillborn(socket);
    } finally {
      this.#opening = null;
      this.#line.wake();
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
        this.#line.wake();
      };
      const { limits } = this.#endpoint;
      // Counted from before the handshake, so never later than the server counts.
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

  /** Resets the count, so that the next run tries again. */
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

  /** A server that accepts connections and closes them does not support WebSockets; counting this stops the attempts. */
  #noteStillborn(socket: ResponsesSocket): void {
    if (!socket.isStillborn || this.#stillborn.has(socket)) return;
    this.#stillborn.add(socket);
    this.#failures += 1;
  }
}

/** If the endpoint has no lanes, more conversations at once have to wait; with 32 lanes each there is room for 512. */
const maxSockets = 16;

/** Retired connections that still answer included. */
const maxOpen = 2 * maxSockets;

/** After such a pause a connection is pinged before use: networks drop connections that are silent for some minutes. */
const quietMs = 30_000;

/** After this many failures in a row the run falls back to HTTP. */
const maxFailures = 3;

/** The server ends a connection after 60 minutes: requests have to be answered by then. */
const retireAfterMs = ({ timeoutMs }: Endpoint): number =>
  Math.max(30, 60 - Math.max(5, Math.ceil(timeoutMs / 60_000))) * 60_000;

/** The server's answer about the request; after it the connection can be reused, unless it has expired. */
const isAnswer = (error: unknown): boolean =>
  error instanceof ProviderError && error.body !== null && !hasExpired(error);

const hasExpired = (error: unknown): error is ProviderError => hasCode(error, "websocket_connection_limit_reached");

const hasCode = (error: unknown, code: string): error is ProviderError =>
  error instanceof ProviderError && error.providerCode === code;

/** Refused only because the connection is too old or has too many lanes: another connection may take the request. */
const onAnother = ({ message, status, providerCode, body }: ProviderError): ProviderError =>
  new ProviderError(message, { kind: "connection", outcome: "rejected", status, providerCode, body });

function notSent(deadline: Deadline): ProviderError {
  const { message, kind, cause } = interruption(deadline) ?? {
    ...{ message: "the request was aborted", kind: "aborted", cause: undefined },
  };
  return new ProviderError(`${message}: it was not sent`, { kind, outcome: "rejected", cause });
}
