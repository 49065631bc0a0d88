import type { Address } from "./address.ts";
import { AppendChannel } from "./append-channel.ts";
import { type Client, createClient, loadDriver } from "./client.ts";
import { createMessages, type Messages } from "./messages.ts";

/** What the stores of this process that are at one address have in common. */
export type Connection = Omit<Client, "close"> & {
  readonly messages: Messages;
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
  const driver = await loadDriver();
  const client = createClient(driver, address);
  const messages = createMessages(driver);
  const appends = new AppendChannel(client, messages);
  return {
    ...client,
    messages,
    appends,
    slots: createSlots(maxReads),
    release() {
      appends.close();
      client.close();
    },
  };
}

/** One of the places that there are. */
type Slot = {
  /** Ending it twice changes nothing. */
  readonly release: () => void;
  /** The holder does not need it at the moment: a caller waiting for a place may ask for this one, once and soon. */
  readonly lend: (giveWay: () => void) => void;
  /** The holder needs it again. */
  readonly keep: () => void;
};

type Held = { giveWay: (() => void) | null };

/**
 * Lets so many of those who ask go on at a time, in the order in which they asked. A caller that holds a place and does other
 * things meanwhile, such as asking for another one, gives way to those who wait: else all might wait for each other.
 */
type Slots = { readonly take: () => Promise<Slot> };

/** How long those who wait leave a place to a holder who does not need it. */
const patienceMs = 50;

function createSlots(max: number): Slots {
  const waiting: ((slot: Slot) => void)[] = [];
  const held = new Set<Held>();
  let isWatched = false;

  function create(): Slot {
    const holder: Held = { giveWay: null };
    held.add(holder);
    return {
      release() {
        if (held.delete(holder)) next();
      },
      lend(giveWay) {
        holder.giveWay = giveWay;
        watch();
      },
      keep() {
        holder.giveWay = null;
      },
    };
  }
  function next(): void {
    if (held.size < max) waiting.shift()?.(create());
  }
  /** Most holders are back, or done, before anybody has to ask. */
  function watch(): void {
    if (isWatched || waiting.length === 0) return;
    isWatched = true;
    setTimeout(() => {
      isWatched = false;
      for (const { giveWay } of [...held].filter((holder) => holder.giveWay !== null).slice(0, waiting.length))
        giveWay?.();
      watch();
    }, patienceMs).unref();
  }

  return {
    take: () =>
      new Promise((resolve) => {
        waiting.push(resolve);
        next();
        watch();
      }),
  };
}
