import { sha256Hex } from "../../base/sha256.ts";
import { StoreClosedError } from "../../log/ports/store-errors.ts";
import { realTime, type Time } from "../time.ts";
import type { PostgresAddress } from "./address.ts";
import { type Client, loadClients, type SqlCall, type SqlValue } from "./client.ts";
import { type Connections, createConnections } from "./connections.ts";
import { ConnectionFailure, isPassing, isPreparedElsewhere, portError } from "./failure.ts";

/** How a statement is repeated. */
export type Trying = {
  /** Ends the pauses between tries; the caller checks it. */
  readonly signal?: AbortSignal | undefined;
  /** When to stop; by default after the address's deadline. Infinity for a follower. */
  readonly forMs?: number;
  /** Whether the store is being opened: a missing table then means that there is no store. */
  readonly isOpening?: boolean;
  /** Whether the call is about snapshots or rows of projections, which readers do without. */
  readonly isDerived?: boolean;
  /** Called with each failure that is followed by another try. */
  readonly onFailure?: (error: unknown) => void;
};

/** Statements on the primary, each a transaction of its own, repeated when the failure may pass. */
export type Database = {
  readonly address: PostgresAddress;
  /** Rows with columns as members. The statement may be executed twice. */
  readonly rows: <Row>(text: string, values: readonly SqlValue[], trying?: Trying) => Promise<readonly Row[]>;
  /** Rows as lists of columns. */
  readonly lists: <Row>(text: string, values: readonly SqlValue[], trying?: Trying) => Promise<readonly Row[]>;
  /** The same on one of the connections that are kept for appends. */
  readonly append: <Row>(text: string, values: readonly SqlValue[], trying?: Trying) => Promise<readonly Row[]>;
  /** Does work in one transaction, once. A text may have several statements. */
  readonly transaction: <T>(work: (run: (text: string) => Promise<readonly unknown[]>) => Promise<T>) => Promise<T>;
  readonly refuseIfClosed: () => void;
  /** Refuses further calls; those in progress go on until the connections are closed. */
  readonly refuse: () => void;
  readonly closeConnections: () => void;
};

export type DatabaseOptions = {
  readonly address: PostgresAddress;
  /** Called with each new connection; throwing closes it. */
  readonly confirm?: (client: Client) => Promise<void>;
  readonly time?: Time;
};

/** Two connections for appends, so that groups of them overlap, and two for everything else. */
const maxConnections = 2;

const firstPauseMs = 10;
/** The longest pause between two tries: a call may end this much before its deadline. */
export const longestPauseMs = 1_000;

/** Longer than `append_1` waits for a lock: its outcome is then known, and the connection stays open. */
const shortestTryMs = 6_000;

/** @throws {StoreUnavailableError} if `pg` is not installed. */
export async function openDatabase(options: DatabaseOptions): Promise<Database> {
  const { address, confirm = async () => undefined, time = realTime } = options;
  const { deadlineMs } = address;
  const create = await loadClients(address, Math.min(deadlineMs, longestConnectMs));
  const connections = { address, create, max: maxConnections, confirm };
  const lanes = { read: createConnections(connections), append: createConnections(connections) };
  let isNamed = true;
  let isClosed = false;

  async function once(lane: Connections, limitMs: number, call: SqlCall): Promise<readonly unknown[]> {
    // Another call may find out meanwhile that names do not work here.
    const hasName = isNamed;
    try {
      const given = hasName ? { ...call, name: nameOf(call.text) } : call;
      return (await lane.use(limitMs, (client) => client.query(given))).rows;
    } catch (error) {
      if (!hasName || !isPreparedElsewhere(error)) throw error;
      // A pooler gives each transaction another connection of the server, which does not have the statement.
      isNamed = false;
      return once(lane, limitMs, call);
    }
  }

  async function execute(lane: Connections, call: SqlCall, trying: Trying = {}): Promise<readonly unknown[]> {
    const { signal, forMs = deadlineMs, isOpening = false, isDerived = false, onFailure } = trying;
    checkStorable(call.values ?? []);
    const until = time.nowMs() + forMs;
    const telling = Math.max(forMs / 2, shortestTryMs);
    let before: unknown = null;
    for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(2 * pauseMs, longestPauseMs)) {
      const leftMs = Math.max(1, until - time.nowMs());
      try {
        return await once(lane, Math.min(leftMs, Math.max(deadlineMs / 2, shortestTryMs)), call);
      } catch (failure) {
        // If the deadline cut the last try short, the failure before it says more.
        const error = failure instanceof ConnectionFailure && leftMs < telling ? (before ?? failure) : failure;
        before = error;
        // Appends that were called before the store was closed are still written.
        const isLeft = signal?.aborted === true || (isClosed && lane === lanes.read);
        const isOver = time.nowMs() + pauseMs >= until || isLeft;
        if (isOver || !isPassing(error)) throw portError(error, { address, isOpening, isDerived });
        onFailure?.(error);
        await time.wait(pauseMs, signal);
      }
    }
  }

  // Rows have the columns that their statement selects.
  const typed = <Row>(rows: Promise<readonly unknown[]>): Promise<readonly Row[]> => rows as Promise<readonly Row[]>;
  return {
    address,
    rows: (text, values, trying) => typed(execute(lanes.read, { text, values }, trying)),
    lists: (text, values, trying) => typed(execute(lanes.read, { text, values, rowMode: "array" }, trying)),
    append: (text, values, trying) => typed(execute(lanes.append, { text, values }, trying)),
    transaction: (work) =>
      lanes.read.use(deadlineMs, async (client) => {
        const run = async (text: string): Promise<readonly unknown[]> => (await client.query({ text })).rows;
        await run("BEGIN");
        try {
          const result = await work(run);
          await run("COMMIT");
          return result;
        } catch (error) {
          await run("ROLLBACK").catch(() => undefined);
          throw error;
        }
      }),
    refuseIfClosed() {
      if (isClosed) throw new StoreClosedError(`the store at ${address.shown} was closed`);
    },
    refuse() {
      isClosed = true;
    },
    closeConnections() {
      lanes.read.close();
      lanes.append.close();
    },
  };
}

/** A host that does not answer is left for the next one. */
const longestConnectMs = 10_000;

/** Statements get the name of their text: behind a pooler another process may have prepared the same name. */
function nameOf(text: string): string {
  const known = names.get(text);
  if (known !== undefined) return known;
  const name = `turnlog_${sha256Hex(text).slice(0, 24)}`;
  if (names.size === maxNames) names.clear();
  names.set(text, name);
  return name;
}
const names = new Map<string, string>();
const maxNames = 256;

/** Whether Postgres can hold a text. `pg` would replace half of a surrogate pair silently. */
export const isStorable = (text: string): boolean => !text.includes("\0") && text.isWellFormed();

/** @throws {RangeError} before anything is sent. */
function checkStorable(values: readonly SqlValue[]): void {
  for (const value of values) {
    for (const each of typeof value === "object" && value !== null ? value : [value]) {
      if (typeof each === "string" && !isStorable(each)) {
        throw new RangeError(
          `${JSON.stringify(each.slice(0, 100))} has a NUL or half of a surrogate pair, which Postgres cannot store: use another text`,
        );
      }
    }
  }
}
