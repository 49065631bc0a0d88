import type { Address } from "./address.ts";
import { AppendChannel } from "./append-channel.ts";
import { type Client, createClient, loadDriver } from "./client.ts";
import { createMessages, type Messages } from "./messages.ts";

/** What this process's stores at one address share. */
export type Connection = Omit<Client, "close"> & {
  readonly messages: Messages;
  readonly appends: AppendChannel;
  /** Slots for reads: a server allows 100 calls at a time on a connection, and further ones wait silently. */
  readonly slots: Slots;
  /** Releases one use; the last one closes the connection. */
  release(): void;
};

/** Leaves room for appends, and for the one subscription of each store. */
const maxReads = 48;

const sharedByAddress = new Map<string, { readonly connection: Promise<Connection>; uses: number }>();

/**
 * The connection of an address: one client per process and address, for any number of open stores.
 *
 * @throws {StoreUnavailableError} if the client is not installed or rejects the address.
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

/** One of a limited number of slots. */
type Slot = {
  /** May be called twice. */
  readonly release: () => void;
  /** The owner does not need it at the moment: if others wait, `giveWay` may be called, once and soon. */
  readonly lend: (giveWay: () => void) => void;
  /** The owner needs it again. */
  readonly keep: () => void;
};

type Held = { giveWay: (() => void) | null };

/**
 * Allows a limited number of owners at a time, in the order in which they asked. An owner that does something else meanwhile, such as
 * asking for another slot, gives way to waiting callers; otherwise all might wait for each other.
 */
type Slots = { readonly take: () => Promise<Slot> };

/** How long waiting callers leave a slot to an owner that does not need it. */
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
  /** Most owners are back, or done, before they have to give way. */
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
