import { StoreNotFoundError } from "../../log/ports/store-errors.ts";
import { formatVersion } from "./envelope.ts";
import { EsdbFailure } from "./failure.ts";
import { forPart } from "./patience.ts";
import type { Session } from "./session.ts";
import { storeIdOf } from "./store-id.ts";
import { readServerStream } from "./stream.ts";

/**
 * The id of the store at an address, from the first event of its identity stream. If there is none, a new id is generated; if
 * several processes do so at once, one of them wins. Resolves once the server is ready and has a leader.
 *
 * @param mustExist - Does not create a store.
 * @throws {StoreNotFoundError} if it must exist and does not; nothing was written then.
 */
export async function openIdentity(session: Session, mustExist: boolean): Promise<string> {
  const { names, connection, closing, address } = session;
  const patience = forPart(session.patience(closing));
  const range = { name: names.identity, from: 0, direction: "forwards", count: 1 } as const;
  const data = encoder.encode(JSON.stringify({ storeId: crypto.randomUUID() }));
  const metadata = encoder.encode(JSON.stringify({ turnlog: formatVersion }));
  const created = { id: crypto.randomUUID(), type: "StoreCreated", data, metadata };
  for (;;) {
    for await (const [event] of readServerStream(session, range, { patience, signal: closing }))
      if (event !== undefined) return storeIdOf(event, address.shown);
    if (mustExist) throw new StoreNotFoundError(`there is no turnlog store at ${address.shown}`);
    let failure: unknown = new EsdbFailure("passing", "its first event exists, but cannot be read yet");
    try {
      await connection.appends.send(
        connection.messages.append(names.identity, null, [created]),
        Math.min(address.silenceMs.append, patience.leftMs()),
      );
    } catch (error) {
      failure = error;
    }
    await patience.wait(failure);
  }
}

const encoder = new TextEncoder();
