import type { Address } from "./address.ts";
import type { Connection } from "./connection.ts";
import { EsdbFailure } from "./failure.ts";
import { createPatience, type Patience } from "./patience.ts";
import { readMessages } from "./read-call.ts";

export const leaseRenewed = "LeaseRenewed";
export const leaseEnded = "LeaseEnded";

export type LeaseStream = {
  /**
   * Appends one event. Readers use only its type and number. The signal ends the pauses between tries.
   *
   * @throws {EsdbFailure} if the deadline is over or the signal aborted; of kind `behind` if the server has lost what it acknowledged.
   */
  readonly write: (type: string, signal: AbortSignal) => Promise<void>;
  /** Resolves when the server shows every reader what it has acknowledged. */
  readonly shown: (signal: AbortSignal) => Promise<void>;
};

/** Creates the stream of a lease on the server, which keeps only its newest event. */
export async function createLeaseStream(
  connection: Connection,
  { name, address, signal }: { readonly name: string; readonly address: Address; readonly signal: AbortSignal },
): Promise<LeaseStream> {
  const { messages, appends } = connection;
  const { deadlineMs, silenceMs } = address;
  let last: number | null = null;

  /** Tries until the deadline of a call is over, or the signal aborts. */
  async function trying<T>(end: AbortSignal, once: (patience: Patience) => Promise<T>): Promise<T> {
    const patience = createPatience({ forMs: deadlineMs, behindMs: deadlineMs, signal: end });
    for (;;) {
      try {
        return await once(patience);
      } catch (error) {
        await patience.wait(error);
        if (end.aborted) throw error;
      }
    }
  }

  async function limit({ settings }: { readonly settings: object }): Promise<void> {
    const event = eventOf("$metadata", settings);
    await trying(signal, ({ leftMs }) =>
      appends.send(messages.append(`$$${name}`, null, [event]), Math.min(silenceMs.append, leftMs())),
    );
  }

  async function write(type: string, end: AbortSignal): Promise<void> {
    // The same id for each try, so that the server acknowledges an event that it already has.
    const event = eventOf(type, {});
    await trying(end, async ({ leftMs }) => {
      for (;;) {
        const answer = await appends.send(messages.append(name, last, [event]), Math.min(silenceMs.append, leftMs()));
        if (answer.status === "appended") {
          last = answer.revision;
          return;
        }
        if (answer.current <= (last ?? -1))
          throw new EsdbFailure("behind", `renewal ${last ?? 0}, which it had acknowledged, is missing`);
        // An earlier try had succeeded after all.
        last = answer.current;
      }
    });
  }

  // No limit of its age (`$maxAge`): then a server's clock would decide which leases exist.
  await limit({ settings: { $maxCount: 1 } });
  return {
    write,
    shown: (end) =>
      trying(end, async ({ leftMs }) => {
        const newest = messages.readStream({ name, from: "end", direction: "backwards", count: 1 });
        const call = { signal: end, silenceMs: Math.min(silenceMs.read, leftMs()), isShort: true };
        for await (const read of readMessages(connection, newest, call))
          for (const { event } of read) if (event !== null && event.revision >= (last ?? 0)) return;
        throw new EsdbFailure("passing", "what it acknowledged cannot be read yet");
      }),
  };
}

function eventOf(type: string, data: object) {
  return { id: crypto.randomUUID(), type, data: encoder.encode(JSON.stringify(data)), metadata: new Uint8Array() };
}

const encoder = new TextEncoder();
