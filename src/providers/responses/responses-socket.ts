import type { Socket } from "node:net";
import type { RawData, WebSocket } from "ws";
import { isJsonObject, type JsonObject, jsonOf } from "../../base/json.ts";
import { ProviderError } from "../../engine/stack/provider.ts";
import { type AnswerLimits, limitError } from "../settings/answer-limits.ts";
import { Reply, responseIdOf } from "./socket-reply.ts";

type Opened = {
  readonly id: string;
  readonly webSocket: WebSocket;
  /** Under the WebSocket: an idle one does not keep a process from ending. */
  readonly socket: Socket;
  readonly limits: AnswerLimits;
  /** When it was opened and is to be left, by the clock of who opened it. */
  readonly openedAt: number;
  readonly retireAt: number;
  /** After what may let others go on. */
  readonly onChange: () => void;
};

/**
 * One connection, of which each conversation has a lane (OpenAI's guide to the WebSocket mode): 16 answers under way at once, one of a lane,
 * and 32 lanes. Where the server does not know lanes, it is one answer after another, and one conversation: the connection
 * remembers the newest answer only.
 */
export class ResponsesSocket {
  readonly id: string;
  readonly retireAt: number;
  /** When a request was last taken to it, or answered, by the same clock. */
  usedAt: number;
  /** Whether events name their lane; null until the first has come, and until then one request is out. */
  hasLanes: boolean | null = null;
  readonly #webSocket: WebSocket;
  readonly #socket: Socket;
  readonly #onChange: () => void;
  readonly #closed: Promise<void>;
  /** Its lanes, and whether the server has heard of each: one that is only kept is given back where nothing is sent on it. */
  readonly #lanes = new Map<string, boolean>();
  /** Those of requests that wait for their turn. */
  readonly #awaited = new Set<string>();
  readonly #replies = new Map<string, Reply>();
  /** The newest response of each lane that was answered: what comes of it again is no part of the next. */
  readonly #answered = new Map<string, string>();
  #hasHeard = false;
  #isLeft = false;
  #isRetired = false;
  /** The server takes no lanes but those that it knows. */
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

  /** Whether it ended, by none of our doing, before anything was said on it: it was hardly opened. */
  get isStillborn(): boolean {
    return !this.isOpen && !this.#hasHeard && !this.#isLeft && this.isIdle;
  }

  get isIdle(): boolean {
    return this.#replies.size === 0;
  }

  /** Whether a request that has its lane here waits to be sent. */
  get isAwaited(): boolean {
    return this.#awaited.size > 0;
  }

  /** How many answers are under way. */
  get inFlight(): number {
    return this.#replies.size;
  }

  /** What may let a request go on that waits here; asked for before the request looks. */
  get change(): Promise<void> {
    return this.#change.promise;
  }

  /** Whether new requests of a lane may be planned for it: of one that it knows, or where one more has room. */
  takes(lane: string): boolean {
    if (!this.isFresh || this.#lanes.has(lane)) return this.isFresh;
    // Before anything was answered it remembers nothing, and the next request finds out.
    if (this.hasLanes === null) return this.isIdle && !this.isAwaited;
    return !this.#isFull && this.#lanes.size < (this.hasLanes ? maxLanes : 1);
  }

  /** Counts the lane for a request that waits for its turn, so that no other takes its place. */
  keep(lane: string): void {
    this.#lanes.set(lane, this.#lanes.get(lane) ?? false);
    this.#awaited.add(lane);
  }

  /** No request waits on the lane any more; unless it `stays` for the next, one that nothing was sent on is free again. */
  unkeep(lane: string, { stays = false }: { readonly stays?: boolean } = {}): void {
    this.#awaited.delete(lane);
    if (!stays && this.#lanes.get(lane) === false && !this.#replies.has(lane)) this.#lanes.delete(lane);
  }

  /** Has the lane answer a request, until `release`, where there is room for one. */
  admit(lane: string): boolean {
    const isFree = this.isOpen && !this.#replies.has(lane);
    if (!isFree || this.#replies.size >= (this.hasLanes === true ? maxInFlight : 1)) return false;
    this.#lanes.set(lane, true);
    this.#awaited.delete(lane);
    this.#replies.set(lane, new Reply());
    this.#socket.ref();
    return true;
  }

  /** Sends a request as it stands, on a lane that was kept for it. */
  send(lane: string, text: string): Reply {
    const reply = this.#replies.get(lane);
    if (reply === undefined) throw new Error(`no request was admitted to the lane ${lane}`);
    this.#webSocket.send(text, (error) => {
      if (error) this.#break(broken(error));
    });
    return reply;
  }

  /** The answer of a lane has ended, or nobody waits for it. */
  release(lane: string): void {
    const id = this.#replies.get(lane)?.responseId ?? null;
    if (id !== null) this.#answered.set(lane, id);
    this.#replies.delete(lane);
    if (this.isIdle) this.#socket.unref();
    this.#closeIfDone();
    this.#changed();
  }

  /** The server has refused a lane for being one too many: it goes elsewhere, and so do others that are new. */
  refuse(lane: string): void {
    this.#isFull = true;
    this.#lanes.delete(lane);
    this.#forgetKept();
  }

  /** Whether the other end is there: a network may have let go of an idle connection and told nobody. One that is not there is broken. */
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

  /** Takes no new requests, and is closed when those that it has are answered. */
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
    if (typeof lane === "string" && !this.#lanes.has(lane))
      this.#break(malformed(`its lane is ${lane}, which is none`));
    else if (typeof lane === "string") this.#give(lane, frame, bytes.byteLength);
    else if (this.#replies.size < 2) for (const only of this.#replies.keys()) this.#give(only, frame, bytes.byteLength);
    // It says of no lane that it is about: of which of several, nobody knows.
    else
      this.#break(
        isError ? nameless(frame) : malformed(`an event without stream_id while ${this.#replies.size} were awaited`),
      );
  }

  #give(lane: string, frame: JsonObject, bytes: number): void {
    const reply = this.#replies.get(lane);
    if (reply === undefined) return;
    const id = responseIdOf(frame);
    const began = reply.responseId ?? id;
    if (id !== null && id === this.#answered.get(lane)) this.#break(malformed(`the response ${id} came already`));
    else if (id === null || id === began) reply.take(frame, bytes);
    else this.#break(malformed(`it is of the response ${id}, and the answer had begun as ${began}`));
  }

  /** What was refused before is remembered nowhere: a connection without lanes is of the one request that it answers now. */
  #learnLanes(hasLanes: boolean): void {
    this.hasLanes = hasLanes;
    if (!hasLanes) {
      for (const lane of this.#lanes.keys()) if (!this.#replies.has(lane)) this.#lanes.delete(lane);
      this.#awaited.clear();
    }
    this.#changed();
  }

  /** What was kept here has to go elsewhere. */
  #forgetKept(): void {
    for (const [lane, isKnown] of this.#lanes) if (!isKnown) this.unkeep(lane);
  }

  #changed(): void {
    this.#change.resolve();
    this.#change = Promise.withResolvers();
    this.#onChange();
  }

  /** Nothing more that comes on it can be believed: all that is under way is of unknown fate. */
  #break(error: ProviderError): void {
    this.#isRetired = true;
    for (const reply of this.#replies.values()) reply.fail(error);
    this.#webSocket.terminate();
    this.#changed();
  }
}

/** Documented for one connection; what there is of the second is never used up again. */
const maxInFlight = 16;
const maxLanes = 32;

/** How long the server's goodbye is waited for. */
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
  new ProviderError(`a frame of the WebSocket is none of the protocol's: ${what.slice(0, 200)}`, unknown);

function nameless(frame: JsonObject): ProviderError {
  const { error } = frame;
  const message = isJsonObject(error) && typeof error["message"] === "string" ? error["message"] : "no reason given";
  return new ProviderError(`the WebSocket ended with an error: ${message}`, { ...unknown, body: frame });
}
