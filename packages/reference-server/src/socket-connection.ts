import type { IncomingMessage } from "node:http";
import type { WebSocket } from "ws";
import { isCut, pause } from "./delivery.ts";
import { nextFault, type Received } from "./exchange.ts";
import type { Fault } from "./faults.ts";
import type { Accepted } from "./inference.ts";
import type { HeldResponse } from "./memory.ts";
import type { SocketOptions } from "./options.ts";
import {
  badJson,
  badLane,
  concurrentRequest,
  connectionLimit,
  laneLimit,
  notOnSocket,
  type Refusal,
  serverError,
  unknownFrame,
  unknownParameter,
} from "./refusals.ts";
import { arrived, eventsOf, type Parts } from "./routes.ts";
import { isObject, type JsonObject, stringOf } from "./wire.ts";

/** Requests with one name are answered in order. While the connection lasts, a request can continue from the newest answer. */
interface Lane {
  readonly name: string | undefined;
  last: Promise<void>;
  cached: string | undefined;
}

/** One WebSocket, and what is remembered while it is open. */
export class SocketConnection {
  readonly #parts: Parts;
  readonly #request: IncomingMessage;
  readonly #webSocket: WebSocket;
  readonly #number: number;
  readonly #openedAt: number;
  readonly #lanes = new Map<string | undefined, Lane>();
  readonly #waiting: (() => void)[] = [];
  #inFlight = 0;

  constructor(
    parts: Parts,
    given: { readonly request: IncomingMessage; readonly webSocket: WebSocket; readonly number: number },
  ) {
    this.#parts = parts;
    this.#request = given.request;
    this.#webSocket = given.webSocket;
    this.#number = given.number;
    this.#openedAt = this.#now();
  }

  serve(): void {
    this.#webSocket.on("error", () => undefined);
    this.#webSocket.on("message", (data, isBinary) => {
      this.#take(isBinary || !Buffer.isBuffer(data) ? "" : data.toString("utf8"));
    });
  }

  #take(bodyText: string): void {
    const received = arrived(this.#parts, this.#request, { bodyText, socket: this.#number });
    const frame = isObject(received.body) ? received.body : undefined;
    const lane = this.#laneOf(frame);
    if (!("last" in lane)) {
      this.#refuse(received, undefined, lane);
      return;
    }
    const before = lane.last;
    this.#inFlight += 1;
    const hasRoom = this.#inFlight <= maxInFlight ? undefined : new Promise<void>((go) => this.#waiting.push(go));
    lane.last = (async () => {
      await before;
      await hasRoom;
      try {
        await this.#answer(received, frame, lane);
      } catch (error) {
        this.#refuse(received, lane, serverError(error instanceof Error ? error.message : String(error)));
      } finally {
        this.#inFlight -= 1;
        this.#waiting.shift()?.();
      }
    })();
  }

  #laneOf(frame: JsonObject | undefined): Lane | Refusal {
    const { lanes } = this.#parts.options.webSocket ?? {};
    const given = frame?.["stream_id"];
    if (lanes === "none" && given !== undefined) return unknownParameter("stream_id");
    if (lanes === "none" && this.#inFlight > 0) return concurrentRequest();
    const name = lanes === "ignored" ? undefined : given;
    if (name !== undefined && (typeof name !== "string" || !lanePattern.test(name))) return badLane();
    const known = this.#lanes.get(name);
    if (known !== undefined) return known;
    const named = [...this.#lanes.keys()].filter((each) => each !== undefined);
    if (name !== undefined && named.length >= maxLanes) return laneLimit();
    const lane = { name, last: Promise.resolve(), cached: undefined };
    this.#lanes.set(name, lane);
    return lane;
  }

  async #answer(received: Received, frame: JsonObject | undefined, lane: Lane): Promise<void> {
    const { inference, readings } = this.#parts;
    const fault = nextFault(this.#parts, received);
    received.hasFaultFired = fault !== undefined && fault.kind !== "cut";
    if (fault?.kind === "delay" && fault.afterBytes === undefined) await pause(fault);
    if (fault?.kind === "answer") {
      this.#refuse(received, lane, { status: fault.status, body: isObject(fault.body) ? fault.body : {} });
      return;
    }
    if (this.#now() - this.#openedAt >= limitMs) {
      this.#refuse(received, lane, connectionLimit());
      this.#webSocket.close();
      return;
    }
    const wrong = frame === undefined ? badJson() : frameRefusal(frame);
    const { body, generates } = bodyIn(frame ?? {}, this.#parts.options.webSocket);
    const cached = new Set([...this.#lanes.values()].flatMap(({ cached }) => cached ?? []));
    const accepted = wrong === undefined ? inference.accept(body, fault, { cached, generates }) : { refusal: wrong };
    if ("refusal" in accepted) {
      this.#refuse(received, lane, accepted.refusal);
      return;
    }
    readings.set(received.index, accepted.reading);
    try {
      await this.#respond(received, lane, { accepted, generates, fault });
    } finally {
      inference.release(accepted);
    }
  }

  async #respond(
    received: Received,
    lane: Lane,
    { accepted, generates, fault }: { accepted: Accepted; generates: boolean; fault: Fault | undefined },
  ): Promise<void> {
    const { inference, readings } = this.#parts;
    const held = generates
      ? await inference.respond(accepted, received.index, { fault })
      : inference.warmUp(accepted, received.index);
    received.responseId = held.head.id;
    received.cache = held.cache;
    readings.set(held.head.id, accepted.reading);
    const named = lane.name === undefined ? {} : { stream_id: lane.name };
    const texts = eventsOf(held, fault, this.#parts).map((event) => JSON.stringify({ ...event, ...named }));
    const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
    // An answer that breaks off, or has an error in it, is not finished.
    const isBroken = fault?.kind === "stream-error" || fault?.kind === "frame";
    const isLost = this.#isGone || isBroken || (isCut(fault, bytes) && fault.isActed !== true);
    if (!isLost) inference.commit(held);
    this.#remember(lane, isLost ? { failed: accepted.previousResponseId } : held);
    received.status = fault?.kind === "lost-acknowledgement" ? 0 : 200;
    received.hasFaultFired ||= isCut(fault, bytes);
    await this.#deliver(texts, fault);
  }

  /** A lane keeps its newest response; if a continuation fails, its parent is dropped. */
  #remember(lane: Lane, what: HeldResponse | { readonly failed: string | null }): void {
    if ("failed" in what) {
      if (what.failed !== null && lane.cached === what.failed) lane.cached = undefined;
      return;
    }
    const isFailed = what.head.status === "failed";
    lane.cached = isFailed ? undefined : what.head.id;
  }

  async #deliver(texts: readonly string[], fault: Fault | undefined): Promise<void> {
    if (fault?.kind === "lost-acknowledgement") {
      this.#webSocket.terminate();
      return;
    }
    let bytes = 0;
    for (const [index, text] of texts.entries()) {
      if (fault?.kind === "frame" && index === fault.afterFrames) {
        this.#webSocket.send(fault.data);
        return;
      }
      bytes += Buffer.byteLength(text);
      if (fault?.kind === "cut" && bytes > fault.afterBytes) {
        await this.#flushed();
        this.#webSocket.terminate();
        return;
      }
      if (fault?.kind === "delay" && fault.afterBytes !== undefined && bytes > fault.afterBytes) {
        await pause(fault);
        bytes = Number.NEGATIVE_INFINITY;
      }
      this.#webSocket.send(text);
    }
  }

  // A destroyed socket drops unsent data, so wait for the frames before a cut.
  #flushed(): Promise<void> {
    return new Promise((resolve) => {
      this.#webSocket.ping(undefined, undefined, () => {
        resolve();
      });
    });
  }

  #refuse(received: Received, lane: Lane | undefined, { status, body }: Refusal): void {
    received.status = status;
    const previous = isObject(received.body) ? stringOf(received.body["previous_response_id"]) : undefined;
    if (lane !== undefined) this.#remember(lane, { failed: previous ?? null });
    const name = isObject(received.body) ? stringOf(received.body["stream_id"]) : undefined;
    const isNamed = name !== undefined && this.#parts.options.webSocket?.lanes === undefined;
    this.#webSocket.send(JSON.stringify(this.#errorFrame(status, body, isNamed ? { stream_id: name } : {})));
  }

  #errorFrame(status: number, body: JsonObject, named: JsonObject): JsonObject {
    const error = isObject(body["error"]) ? body["error"] : {};
    const { code = null, message = "", param = null } = error;
    switch (this.#parts.options.webSocket?.errors ?? "documented") {
      case "bare":
        return { type: "error", status, ...named, error: { code, message } };
      case "flat":
        return { type: "error", code, message, param, ...named };
      default:
        return { type: "error", status, ...named, ...body };
    }
  }

  get #isGone(): boolean {
    return this.#webSocket.readyState !== this.#webSocket.OPEN;
  }

  #now(): number {
    return (this.#parts.options.now ?? Date.now)();
  }
}

/** Documented limits: 60 minutes, 16 responses in flight, 32 names, and the form of a name. */
const limitMs = 60 * 60 * 1000;
const maxInFlight = 16;
const maxLanes = 32;
const lanePattern = /^[A-Za-z0-9_.-]{1,256}$/;

function frameRefusal(frame: JsonObject): Refusal | undefined {
  if (frame["type"] !== "response.create") return unknownFrame(stringOf(frame["type"]) ?? "");
  return frame["background"] === true ? notOnSocket("background") : undefined;
}

/** The request body in a frame: as over HTTP, and always streamed. */
function bodyIn(
  frame: JsonObject,
  { generates }: SocketOptions = {},
): { readonly body: JsonObject; readonly generates: boolean } {
  const members = Object.entries(frame).filter(([name]) => !envelopeMembers.has(name));
  return {
    body: { ...Object.fromEntries(members), stream: true },
    generates: generates === "always" || frame["generate"] !== false,
  };
}

const envelopeMembers: ReadonlySet<string> = new Set(["type", "stream_id", "generate"]);
