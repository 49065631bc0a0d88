import { randomUUID } from "node:crypto";
import { objectOf } from "../../base/json.ts";
import { StoreCorruptedError, StoreNotFoundError, StoreTooNewError } from "../../log/ports/event-store.ts";
import { formatVersion } from "./envelope.ts";
import { createRetryPolicy, Failure } from "./failure.ts";
import { type RecordedEvent, textOf } from "./messages.ts";
import type { Session } from "./session.ts";
import { readServerStream } from "./stream.ts";

export type IdentityOptions = {
  /** Refuses to create a store. */
  readonly mustExist: boolean;
  /** How long to wait for a server that is starting, or has no leader yet. */
  readonly readyTimeoutMs: number;
};

/**
 * The id of the store at an address: what its own stream's first event says. A new one is drawn where there is none; of
 * several processes that do so at once, one is in time. Answers once the server is ready and has a leader.
 *
 * @throws {StoreNotFoundError} when it must exist and does not; then nothing was written.
 */
export async function openIdentity(session: Session, { mustExist, readyTimeoutMs }: IdentityOptions): Promise<string> {
  const { names, connection, closing, address } = session;
  const patient = { ...session, address: { ...address, timeoutMs: readyTimeoutMs } };
  const retry = createRetryPolicy({ forMs: readyTimeoutMs });
  const range = { name: names.identity, from: 0, direction: "forwards", count: 1 } as const;
  const data = encoder.encode(JSON.stringify({ storeId: randomUUID() }));
  const metadata = encoder.encode(JSON.stringify({ turnlog: formatVersion }));
  const created = { id: randomUUID(), type: "StoreCreated", data, metadata };
  for (;;) {
    for await (const [event] of readServerStream(patient, range, closing))
      if (event !== undefined) return storeIdOf(event, address.shown);
    if (mustExist) throw new StoreNotFoundError(`there is no turnlog store at ${address.shown}`);
    let failure: unknown = new Failure("passing", "its first event is there, and cannot be read yet");
    try {
      await connection.appends.send(
        connection.messages.append(names.identity, null, [created]),
        address.silenceMs.append,
      );
    } catch (error) {
      failure = error;
    }
    await retry.wait(failure);
  }
}

const encoder = new TextEncoder();

function storeIdOf(event: RecordedEvent, shown: string): string {
  const [data, metadata] = [parse(event.data), parse(event.metadata)];
  const version = objectOf(metadata)["turnlog"];
  if (typeof version === "number" && version > formatVersion) {
    throw new StoreTooNewError(`${shown} was written by a newer turnlog (format ${version}): update turnlog`);
  }
  const storeId = objectOf(data)["storeId"];
  // It becomes a part of a file's name.
  if (version !== undefined && typeof storeId === "string" && /^[0-9a-f-]{36}$/.test(storeId)) return storeId;
  throw new StoreCorruptedError(
    `${shown} has a stream turnlog-store that turnlog did not write: give turnlog names of its own (turnlogNamespace=… in the address)`,
  );
}

function parse(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(textOf(bytes));
  } catch {
    return null;
  }
}
