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

/** Where each request stands that is not sent yet, in the order in which they came. */
export class SocketLine {
  /** The connection that has a request's lane, and what lets it look again where none has. */
  readonly #places = new Map<Wanted, Place>();

  join(wanted: Wanted): Wanted {
    this.#places.set(wanted, { socket: null, turn: null });
    return wanted;
  }

  /** The request's lane is counted on this connection from here on, and on no other. */
  hold(wanted: Wanted, socket: ResponsesSocket): void {
    const place = this.#places.get(wanted);
    if (place === undefined) return;
    const isNew = place.socket !== socket;
    if (isNew) place.socket?.unkeep(wanted.lane);
    place.socket = socket;
    socket.keep(wanted.lane);
    if (isNew) this.wake();
  }

  /** Resolves when it is worth looking for a connection again. */
  turn(wanted: Wanted): Promise<void> {
    const turn: PromiseWithResolvers<void> = Promise.withResolvers();
    const place = this.#places.get(wanted);
    if (place === undefined) turn.resolve();
    else place.turn = turn;
    return turn.promise;
  }

  /** The request was sent, or never will be; its lane `stays` for the conversation's next one. */
  leave(wanted: Wanted, options?: { readonly stays: boolean }): void {
    this.#places.get(wanted)?.socket?.unkeep(wanted.lane, options);
    this.#places.delete(wanted);
    this.wake();
  }

  /** Lets the first look, of those with lanes and of those without. */
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

/** Waits no longer than the deadline stands; then null. */
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

/** What a lane is called: the server learns nothing of the conversation's id, and takes every one. */
export const laneOf = (conversation: string): string => `turnlog-${sha256Hex(conversation).slice(0, 24)}`;
