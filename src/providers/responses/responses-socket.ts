import type { Socket } from "node:net";
import type { RawData, WebSocket } from "ws";
import { isJsonObject, type JsonObject, jsonOf } from "../../base/json.ts";
import { ProviderError } from "../../engine/ports/provider-error.ts";
import { type AnswerLimits, limitError } from "../settings/answer-limits.ts";
import { Reply, responseIdOf } from "./socket-reply.ts";

type Opened = {
  readonly id: string;
  readonly webSocket: WebSocket;
  /** The TCP socket: unreferenced while idle, so that it does not keep the process alive. */
  readonly socket: Socket;
  readonly limits: AnswerLimits;
  /** When it was opened and when to retire it, by the clock of the pool. */
  readonly openedAt: number;
  readonly retireAt: number;
  /** Called after changes that may let waiting requests proceed. */
  readonly onChange: () => void;
};

/**
 * One connection with a lane for each conversation (OpenAI's guide to the WebSocket mode): 16 answers at a time, one on each lane, and 32
 * lanes. If the server does not support lanes, the connection serves one conversation, one answer at a time, because it remembers only the
 * newest answer.
 */
export class ResponsesSocket {
  readonly id: string;
  readonly retireAt: number;
  /** When a request last used it or was answered, by the same clock. */
  usedAt: number;
  /** Whether events name their lane; null until the first event, and until then only one request is sent. */
  hasLanes: boolean | null = null;
  readonly #webSocket: WebSocket;
  readonly #socket: Socket;
  readonly #onChange: () => void;
  readonly #closed: Promise<void>;
  /** The lanes, and whether the server knows each. A lane that is only kept is freed if nothing is sent on it. */
  readonly #lanes = new Map<string, boolean>();
  /** The lanes of requests that wait for their turn. */
  readonly #awaited = new Set<string>();
  readonly #replies = new Map<string, Reply>();
  /** The newest answered response of each lane: an event of that response does not belong to the next answer. */
  readonly #answered = new Map<string, string>();
  #hasHeard = false;
  #isLeft = false;
  #isRetired = false;
  /** The server accepts no new lanes. */
  #isFull = false;
  #change: PromiseWithResolvers<void> = Promise.withResolvers();

  constructor({ id, webSocket, socket, limits, openedAt, retireAt, onChange }: Opened) {
    this.id = id;
    this.retireAt = retireAt;
    this.usedAt = openedAt;
    this.#webSocket = webSocket;
    this.#socket = socket;
    this.#onChange = onChange;
    webSocket.on("message", (data, isBinary) => {
      this.#take(data, isBinary);
    });
    webSocket.on("error", (cause: NodeJS.ErrnoException) => {
      const isTooLarge = cause.code === "WS_ERR_UNSUPPORTED_MESSAGE_LENGTH";
      this.#break(isTooLarge ? limitError("bodyBytes", limits) : broken(cause));
    });
    this.#closed = new Promise((resolve) => {
      webSocket.once("close", (code, reason) => {
        this.#break(closed(code, reason.toString("utf8")));
        resolve();
      });
    });
    socket.unref();
  }

  get isOpen(): boolean {
    return this.#webSocket.readyState === this.#webSocket.OPEN;
  }

  /** Whether new requests may be planned for it. */
  get isFresh(): boolean {
    return this.isOpen && !this.#isRetired;
  }

  /** Whether the server ended it before sending anything on it, so that it was hardly open. */
  get isStillborn(): boolean {
    return !this.isOpen && !this.#hasHeard && !this.#isLeft && this.isIdle;
  }

  get isIdle(): boolean {
    return this.#replies.size === 0;
  }

  /** Whether a request with a lane here waits to be sent. */
  get isAwaited(): boolean {
    return this.#awaited.size > 0;
  }

  /** The number of answers in progress. */
  get inFlight(): number {
    return this.#replies.size;
  }

  /** Resolves when a waiting request should look again. Read it before looking. */
  get change(): Promise<void> {
    return this.#change.promise;
  }

  /** Whether new requests of a lane may be planned for it: it knows the lane, or has room for one more. */
  takes(lane: string): boolean {
    if (!this.isFresh || this.#lanes.has(lane)) return this.isFresh;
    // Before its first answer the connection remembers nothing, and the next request shows whether it has lanes.
    if (this.hasLanes === null) return this.isIdle && !this.isAwaited;
    return !this.#isFull && this.#lanes.size < (this.hasLanes ? maxLanes : 1);
  }

  /** Reserves the lane for a request that waits for its turn. */
  keep(lane: string): void {
    this.#lanes.set(lane, this.#lanes.get(lane) ?? false);
    this.#awaited.add(lane);
  }

  /** Ends a request's wait on the lane. The lane is freed if nothing was sent on it, unless it `stays` for the next request. */
  unkeep(lane: string, { stays = false }: { readonly stays?: boolean } = {}): void {
    this.#awaited.delete(lane);
    if (!stays && this.#lanes.get(lane) === false && !this.#replies.has(lane)) this.#lanes.delete(lane);
  }

  /** Starts a request on the lane, until `release`, if there is room. */
  admit(lane: string): boolean {
    const isFree = this.isOpen && !this.#replies.has(lane);
    if (!isFree || this.#replies.size >= (this.hasLanes === true ? maxInFlight : 1)) return false;
    this.#lanes.set(lane, true);
    this.#awaited.delete(lane);
    this.#replies.set(lane, new Reply());
    this.#socket.ref();
    return true;
  }

  /** Sends a request unchanged on its admitted lane. */
  send(lane: string, text: string): Reply {
    const reply = this.#replies.get(lane);
    if (reply === undefined) throw new Error(`no request was admitted to the lane ${lane}`);
    this.#webSocket.send(text, (error) => {
      if (error) this.#break(broken(error));
    });
    return reply;
  }

  /** Ends the answer of a lane, complete or abandoned. */
  release(lane: string): void {
    const id = this.#replies.get(lane)?.responseId ?? null;
    if (id !== null) this.#answered.set(lane, id);
    this.#replies.delete(lane);
    if (this.isIdle) this.#socket.unref();
    this.#closeIfDone();
    this.#changed();
  }

  /** The server refused the lane as one too many: this one and other new lanes go to another connection. */
  refuse(lane: string): void {
    this.#isFull = true;
    this.#lanes.delete(lane);
    this.#forgetKept();
  }

  /** Whether the other end still answers: a network may drop an idle connection without notice. If it does not, the connection is broken. */
  async answersPing(waitMs: number): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const timer = setTimeout(resolve, waitMs, false);
    this.#webSocket.once("pong", () => {
      resolve(true);
    });
    this.#webSocket.ping();
    const isThere = await Promise.race([promise, this.#closed.then(() => false)]);
    clearTimeout(timer);
    if (!isThere) this.#break(broken());
    return isThere;
  }

  /** Accepts no new requests, and closes when the current ones are answered. */
  retire(): void {
    this.#isLeft = true;
    this.#isRetired = true;
    this.#closeIfDone();
    this.#changed();
  }

  async close(): Promise<void> {
    this.#isLeft = true;
    this.#isRetired = true;
    const { promise: isLate, resolve } = Promise.withResolvers<null>();
    const timer = setTimeout(resolve, maxCloseMs, null);
    this.#webSocket.close();
    await Promise.race([this.#closed, isLate]);
    clearTimeout(timer);
    this.#webSocket.terminate();
  }

  #closeIfDone(): void {
    if (this.#isRetired && this.isIdle) void this.close();
  }

  #take(data: RawData, isBinary: boolean): void {
    const bytes = Buffer.isBuffer(data) ? data : Buffer.alloc(0);
    const frame = isBinary ? undefined : jsonOf(bytes.toString("utf8"));
    if (!isJsonObject(frame)) {
      this.#break(malformed(isBinary ? "binary" : bytes.toString("utf8")));
      return;
    }
    const { stream_id: lane, type } = frame;
    const isError = type === "error";
    if (this.hasLanes === null && (typeof lane === "string" || !isError)) this.#learnLanes(typeof lane === "string");
    this.#hasHeard = true;
    if (typeof lane === "string" && !this.#lanes.has(lane)) this.#break(malformed(`it has the unknown lane ${lane}`));
    else if (typeof lane === "string") this.#give(lane, frame, bytes.byteLength);
    else if (this.#replies.size < 2) for (const only of this.#replies.keys()) this.#give(only, frame, bytes.byteLength);
    // The frame names no lane, and several are in progress: it cannot be assigned.
    else
      this.#break(
        isError
          ? nameless(frame)
          : malformed(`an event without stream_id while ${this.#replies.size} requests were waiting`),
      );
  }

  #give(lane: string, frame: JsonObject, bytes: number): void {
    const reply = this.#replies.get(lane);
    if (reply === undefined) return;
    const id = responseIdOf(frame);
    const began = reply.responseId ?? id;
    if (id !== null && id === this.#answered.get(lane))
      this.#break(malformed(`the response ${id} has already arrived`));
    else if (id === null || id === began) reply.take(frame, bytes);
    else this.#break(malformed(`it belongs to the response ${id}, but the answer began as ${began}`));
  }

  /** Without lanes, the connection belongs to the one request that it answers now; it remembers nothing of earlier refused ones. */
  #learnLanes(hasLanes: boolean): void {
    this.hasLanes = hasLanes;
    if (!hasLanes) {
      for (const lane of this.#lanes.keys()) if (!this.#replies.has(lane)) this.#lanes.delete(lane);
      this.#awaited.clear();
    }
    this.#changed();
  }

  /** Frees the lanes that nothing was sent on; their requests go to another connection. */
  #forgetKept(): void {
    for (const [lane, isKnown] of this.#lanes) if (!isKnown) this.unkeep(lane);
  }

  #changed(): void {
    this.#change.resolve();
    this.#change = Promise.withResolvers();
    this.#onChange();
  }

  /** The connection cannot be trusted any more: every answer in progress has an unknown outcome. */
  #break(error: ProviderError): void {
    this.#isRetired = true;
    for (const reply of this.#replies.values()) reply.fail(error);
    this.#webSocket.terminate();
    this.#changed();
  }
}

/** Documented for one connection. Used lanes are never freed. */
const maxInFlight = 16;
const maxLanes = 32;

/** How long to wait for the server's close frame. */
const maxCloseMs = 1_000;

const unknown = { kind: "stream-cut", outcome: "unknown" } as const;

const broken = (cause?: unknown): ProviderError =>
  new ProviderError("the WebSocket was closed before the answer was complete", { ...unknown, cause });

const closed = (code: number, reason: string): ProviderError => {
  const { message } = broken();
  const why = reason === "" ? `${code}` : `${code}, ${reason.slice(0, 200)}`;
  return new ProviderError(`${message} (${why})`, unknown);
};

const malformed = (what: string): ProviderError =>
  new ProviderError(`a frame of the WebSocket does not follow the protocol: ${what.slice(0, 200)}`, unknown);

function nameless(frame: JsonObject): ProviderError {
  const { error } = frame;
  const message = isJsonObject(error) && typeof error["message"] === "string" ? error["message"] : "no reason given";
  return new ProviderError(`the WebSocket ended with an error: ${message}`, { ...unknown, body: frame });
}
