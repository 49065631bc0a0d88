import { innerSignal, rejectionOf } from "../../base/abort.ts";
import { comparePositions } from "../../log/ports/event-store.ts";
import type { Address, ParameterNames } from "./address.ts";
import type { Connection } from "./connection.ts";
import { EsdbFailure } from "./failure.ts";
import type { EsdbEvent, ReadReq } from "./messages.ts";
import type { Patience } from "./patience.ts";
import { readMessages } from "./read-call.ts";
import { storeIdOf } from "./store-id.ts";

type SeenEvent = Pick<EsdbEvent, "id" | "position">;

/**
 * Checks that the server still holds the store that was opened, with everything that this process has seen of it. A server that was
 * set back (a restored backup, a restarted in-memory database) reports no error: reads end early, and a subscription
 * from a position beyond the end of the log silently skips new events.
 */
export type SameStore = {
  /** The store is open: from now on there is an id to confirm. */
  readonly opened: (storeId: string) => void;
  /** Records an event that was read or acknowledged: the newest one must stay where it is. */
  readonly note: (event: SeenEvent | undefined) => void;
  /**
   * Asks the server, unless it has been asked since the last failure of a call or loss of the connection.
   *
   * @throws {EsdbFailure} of kind `replaced` if it holds something else, `behind` if it holds less, which may only be its index.
   */
  readonly confirm: (patience: Pick<Patience, "leftMs">, signal: AbortSignal) => Promise<void>;
};

export function createSameStore(
  connection: Connection,
  {
    address,
    names,
    closing,
  }: { readonly address: Address; readonly names: ParameterNames; readonly closing: AbortSignal },
): SameStore {
  let storeId: string | null = null;
  let newest: SeenEvent | null = null;
  let confirmedAt = connection.losses();
  let asking: Promise<void> | null = null;

  /** The first event that the server returns; null for none. */
  async function first(request: ReadReq, silenceMs: number): Promise<EsdbEvent | null> {
    for await (const messages of readMessages(connection, request, { signal: closing, silenceMs, isShort: true }))
      for (const { event } of messages) if (event !== null) return event;
    return null;
  }

  async function checkId(silenceMs: number): Promise<void> {
    const range = { name: names.identity, from: 0, direction: "forwards", count: 1 } as const;
    const event = await first(connection.messages.readStream(range), silenceMs);
    if (event === null) throw new EsdbFailure("behind", "it holds no store");
    const found = storeIdOf(event, address.shown);
    if (found !== storeId) throw new EsdbFailure("replaced", `its id is ${found}, and was ${storeId ?? "none"}`);
  }

  async function checkNewest(seen: SeenEvent, silenceMs: number): Promise<void> {
    const gone = `event ${seen.id}, which was at ${seen.position}, is missing`;
    let found: EsdbEvent | null;
    try {
      found = await first(connection.messages.eventAt(seen.position), silenceMs);
    } catch (error) {
      if (!(error instanceof EsdbFailure)) throw error;
      // A user of a stream may not be allowed to read the log.
      if (error.kind === "denied") return;
      throw error.kind === "position" ? new EsdbFailure("replaced", gone, { cause: error.cause }) : error;
    }
    if (found === null) throw new EsdbFailure("behind", `its log ends before ${seen.position}, which it had before`);
    // A scavenge may have removed the event, and then the server returns a later one.
    if (comparePositions(found.position, seen.position) === 0 && found.id !== seen.id)
      throw new EsdbFailure("replaced", gone);
  }

  async function ask(limitMs: number): Promise<void> {
    const losses = connection.losses();
    const silenceMs = Math.min(address.silenceMs.read, limitMs);
    await checkId(silenceMs);
    if (newest !== null) await checkNewest(newest, silenceMs);
    confirmedAt = losses;
  }

  return {
    opened(id) {
      storeId = id;
    },
    note(event) {
      if (event !== undefined && (newest === null || comparePositions(event.position, newest.position) > 0))
        newest = { id: event.id, position: event.position };
    },
    async confirm({ leftMs }, signal) {
      if (storeId === null || confirmedAt === connection.losses()) return;
      // Concurrent callers share one request.
      asking ??= ask(leftMs()).finally(() => {
        asking = null;
      });
      const waiting = innerSignal(signal);
      try {
        await Promise.race([asking, rejectionOf(waiting.signal)]);
      } finally {
        waiting.end(undefined);
      }
    },
  };
}
