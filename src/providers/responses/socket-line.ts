import type { JsonObject } from "../../base/json.ts";
import { sha256Hex } from "../../base/sha256.ts";
import type { Deadline } from "../http/deadline.ts";
import type { ResponsesSocket } from "./responses-socket.ts";

/** A request that looks for a connection, or waits on one for its turn. */
export type Wanted = {
  readonly conversation: string;
  readonly lane: string;
  /** The connection that it was planned for. */
  readonly lives: JsonObject | null;
  /** Whether it names its lane. */
  readonly isNamed: boolean;
};

/** The queue of requests that are not sent yet, in their order of arrival. */
export class SocketLine {
  /** The connection that has reserved a request's lane, or else the promise that wakes the request. */
  readonly #places = new Map<Wanted, Place>();

  join(wanted: Wanted): Wanted {
    this.#places.set(wanted, { socket: null, turn: null });
    return wanted;
  }

  /** Reserves the request's lane on this connection and on no other. */
  hold(wanted: Wanted, socket: ResponsesSocket): void {
    const place = this.#places.get(wanted);
    if (place === undefined) return;
    const isNew = place.socket !== socket;
    if (isNew) place.socket?.unkeep(wanted.lane);
    place.socket = socket;
    socket.keep(wanted.lane);
    if (isNew) this.wake();
  }

  /** Resolves when the request should look for a connection again. */
  turn(wanted: Wanted): Promise<void> {
    const turn: PromiseWithResolvers<void> = Promise.withResolvers();
    const place = this.#places.get(wanted);
    if (place === undefined) turn.resolve();
    else place.turn = turn;
    return turn.promise;
  }

  /** Removes a request that was sent, or never will be; its lane `stays` for the conversation's next one. */
  leave(wanted: Wanted, options?: { readonly stays: boolean }): void {
    this.#places.get(wanted)?.socket?.unkeep(wanted.lane, options);
    this.#places.delete(wanted);
    this.wake();
  }

  /** Wakes the first request with a named lane and the first without. */
  wake(): void {
    for (const isNamed of [true, false]) {
      const first = this.#waiting(isNamed);
      if (first === null) continue;
      first.turn?.resolve();
      first.turn = null;
    }
  }

  #waiting(isNamed: boolean): Place | null {
    for (const [wanted, place] of this.#places) if (wanted.isNamed === isNamed && place.turn !== null) return place;
    return null;
  }
}

type Place = { socket: ResponsesSocket | null; turn: PromiseWithResolvers<void> | null };

/** Waits for the work until the deadline passes; then returns null. */
export async function aborting<T>({ signal }: Deadline, work: Promise<T>): Promise<T | null> {
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

/** The name of a conversation's lane: it reveals nothing of the conversation's id, and servers accept its format. */
export const laneOf = (conversation: string): string => `turnlog-${sha256Hex(conversation).slice(0, 24)}`;
