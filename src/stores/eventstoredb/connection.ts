import type { Address } from "./address.ts";
import { AppendChannel } from "./append-channel.ts";
import { loadDriver } from "./driver.ts";
import { createSlots, type Slots } from "./slots.ts";
import { createTransport, type Transport } from "./transport.ts";

/** What the stores of this process that are at one address have in common. */
export type Connection = Omit<Transport, "close"> & {
  readonly appends: AppendChannel;
  /** Reads under way: a server lets 100 calls go on at a time on a connection, and what is beyond waits without a word. */
  readonly slots: Slots;
  /** Gives up one use; the last one closes the connection. */
  release(): void;
};

/** Leaves room for appends, and for the one subscription of every store. */
const maxReads = 48;

const sharedByAddress = new Map<string, { readonly connection: Promise<Connection>; uses: number }>();

/**
 * The connection of an address: one client per process and address, however many stores are open there.
 *
 * @throws {StoreUnavailableError} when the client is not installed or does not take the address.
 */
export async function connect(address: Address): Promise<Connection> {
  const key = address.connectionString;
  const shared = sharedByAddress.get(key) ?? { connection: createConnection(address), uses: 0 };
  sharedByAddress.set(key, shared);
  shared.uses += 1;
  const giveUp = (close: () => void): void => {
    shared.uses -= 1;
    if (shared.uses > 0) return;
    sharedByAddress.delete(key);
    close();
  };
  try {
    const connection = await shared.connection;
    return {
      ...connection,
      release() {
        giveUp(() => {
          connection.release();
        });
      },
    };
  } catch (error) {
    giveUp(() => undefined);
    throw error;
  }
}

async function createConnection(address: Address): Promise<Connection> {
  const transport = createTransport(await loadDriver(), address);
  const appends = new AppendChannel(transport);
  return {
    ...transport,
    appends,
    slots: createSlots(maxReads),
    release() {
      appends.close();
      transport.close();
    },
  };
}
