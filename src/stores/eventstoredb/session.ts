import type { AccessRequest } from "../../log/access/authorized-store.ts";
import { StoreClosedError } from "../../log/ports/store-errors.ts";
import { type Address, createNames, type ParameterNames } from "./address.ts";
import type { Connection } from "./connection.ts";
import { EsdbFailure, portError } from "./failure.ts";
import { createHeads, type Heads } from "./heads.ts";
import type { EsdbEvent } from "./messages.ts";
import { createPatience, type Patience } from "./patience.ts";
import { createSameStore, type SameStore } from "./same-store.ts";

/** What the parts of an open store share. */
export type Session = {
  readonly address: Address;
  readonly names: ParameterNames;
  readonly connection: Connection;
  readonly heads: Heads;
  readonly sameStore: SameStore;
  /** The deadline of one call of the store, starting now; unlimited for following the log. */
  readonly patience: (signal?: AbortSignal, how?: "for ever") => Patience;
  /** Aborts when the store is closed. */
  readonly closing: AbortSignal;
  readonly refuseIfClosed: () => void;
  /** Translates a failure into an error of the port; other errors stay as they are. */
  readonly translate: (error: unknown, request: AccessRequest) => unknown;
  /** Called with messages for an operator. */
  readonly warn: (message: string) => void;
  /** Warns once that another program writes to streams that turnlog reads, or has deleted one. */
  readonly warnOfForeign: (event: EsdbEvent) => void;
};

export function createSession(options: Pick<Session, "address" | "connection" | "closing" | "warn">): Session {
  const { address, connection, closing, warn } = options;
  const names = createNames(address.namespace);
  const { deadlineMs } = address;
  const warned = new Set<string>();
  return {
    ...options,
    names,
    heads: createHeads(),
    sameStore: createSameStore(connection, { address, names, closing }),
    patience: (signal, how) =>
      createPatience({
        forMs: how === undefined ? deadlineMs : Number.POSITIVE_INFINITY,
        behindMs: deadlineMs,
        ...(signal === undefined ? {} : { signal }),
      }),
    refuseIfClosed() {
      if (closing.aborted) throw new StoreClosedError(`the store at ${address.shown} was closed`);
    },
    warnOfForeign({ type, name }) {
      const isDeletion = type === "$streamDeleted";
      const warning = isDeletion
        ? `another program deleted ${name} at ${address.shown} for ever: restore it from a copy under another name`
        : `${name} at ${address.shown} holds events of another program, which turnlog leaves out of the log: give turnlog its own names (turnlogNamespace=… in the address)`;
      const about = isDeletion ? name : "";
      if (!warned.has(about)) warn(warning);
      warned.add(about);
    },
    translate: (error, request) => (error instanceof EsdbFailure ? portError(error, address.shown, request) : error),
  };
}

/** Aborts when the store is closed or the caller aborts. */
export const endOf = ({ closing }: Session, signal: AbortSignal | undefined): AbortSignal =>
  signal === undefined ? closing : AbortSignal.any([closing, signal]);
