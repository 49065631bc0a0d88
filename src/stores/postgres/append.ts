import { TurnlogError } from "../../base/turnlog-error.ts";
import { checkBounds } from "../../log/codec/bounds.ts";
import {
  firstRevision,
  headOf,
  isSameHead,
  type PresentEvent,
  resolveHeadMismatch,
} from "../../log/codec/idempotent-append.ts";
import type { AppendResult, Head, PreparedAppend } from "../../log/ports/event-store.ts";
import { StoreCorruptedError } from "../../log/ports/store-errors.ts";
import { realTime } from "../time.ts";
import type { SqlValue } from "./client.ts";
import { type Database, longestPauseMs } from "./database.ts";
import { appendArrays } from "./schema.ts";
import type { Seen } from "./seen.ts";

/** The maximum number of appends in a transaction. */
const maxGroupAppends = 256;

/** The same limit in UTF-16 units of data; a larger append goes alone. */
const maxGroupUnits = 1024 * 1024;

/** How many groups may be on their way at once, each on a connection of its own. */
const maxGroups = 2;

export type Appends = {
  readonly append: (prepared: PreparedAppend) => Promise<AppendResult>;
  /** Resolves when every append has its result. */
  readonly idle: () => Promise<void>;
};

export type AppendsOptions = {
  readonly database: Database;
  readonly storeId: string;
  readonly seen: Seen;
  /** Called after each group that wrote something. */
  readonly onCommit: () => void;
};

type Job = {
  /** The end of its deadline, from the call on. */
  readonly until: number;
  readonly prepared: PreparedAppend;
  readonly resolve: (result: AppendResult) => void;
  readonly reject: (error: unknown) => void;
};

/**
 * Puts appends called in the same turn of the event loop, or while all groups are on their way, into one call of the server. If the
 * outcome of a call is unknown it is repeated: an append that has already happened then finds itself.
 */
export function createAppends({ database, storeId, seen, onCommit }: AppendsOptions): Appends {
  const { schema, deadlineMs } = database.address;
  const queue: Job[] = [];
  let groups = 0;
  let isScheduled = false;
  let whenIdle: (() => void)[] = [];
  /** The positions of the last events; null for an append that did not find the expected head. */
  async function write(group: readonly Job[]): Promise<readonly (string | null)[]> {
    const appends = group.map(({ prepared }) => prepared);
    const { text, values } = appendCall(appends, { schema, storeId, seen: seen.position() });
    const forMs = Math.max(1, untilOf(group) - realTime.nowMs());
    const [row] = await database.append<{ readonly positions: string }>(text, values, { forMs });
    return (row?.positions ?? "").split(",").map((position) => (position === "" ? null : position));
  }

  async function look(prepared: PreparedAppend): Promise<AppendResult> {
    const { stream, envelopes, expectedHead: expected } = prepared;
    const first = firstRevision(prepared);
    const rows = await database.append<FoundRow>(
      `SELECT streams.revision::float8 AS revision, streams.digest, event.id, event.digest AS "eventDigest",
         event.position::text AS position
       FROM ${schema}.streams LEFT JOIN ${schema}.events AS event ON event.stream = streams.number
         AND event.revision >= CASE WHEN $3::bigint = 0 THEN streams.revision ELSE $2::bigint END
         AND event.revision <= CASE WHEN $3::bigint = 0 THEN streams.revision ELSE $2::bigint + $3 - 1 END
       WHERE streams.name = $1 ORDER BY event.revision`,
      [stream, first, envelopes.length],
    );
    const [row] = rows;
    const actual: Head | null = row === undefined ? null : { revision: row.revision, digest: row.digest };
    const present = rows.flatMap(({ id, eventDigest, position }): readonly PresentEvent[] =>
      id === null || eventDigest === null || position === null ? [] : [{ id, digest: eventDigest, position }],
    );
    if (envelopes.length > 0 || !isSameHead(expected, actual)) return resolveHeadMismatch(prepared, actual, present);
    const [newest] = present;
    return actual === null || newest === undefined
      ? { status: "conflict", actual }
      : { status: "appended", head: actual, position: newest.position };
  }

  async function answer(prepared: PreparedAppend, position: string | null): Promise<AppendResult> {
    const head = headOf(prepared.envelopes);
    if (head === null || position === null) return look(prepared);
    seen.note(position);
    return { status: "appended", head, position };
  }

  async function commit(group: readonly Job[]): Promise<void> {
    // An append of no events writes nothing.
    const written = group.filter(({ prepared }) => prepared.envelopes.length > 0);
    const positionByJob = new Map<Job, string | null>();
    try {
      const positions = written.length === 0 ? [] : await write(written);
      written.forEach((job, index) => void positionByJob.set(job, positions[index] ?? null));
    } catch (error) {
      await fail(group, error);
      return;
    }
    onCommit();
    await Promise.all(
      group.map((job) => answer(job.prepared, positionByJob.get(job) ?? null).then(job.resolve, job.reject)),
    );
  }

  async function fail(group: readonly Job[], error: unknown): Promise<void> {
    if (group.length > 1 && isOfOne(error)) {
      // One append that the server rejects harms no other.
      for (const job of group) await commit([job]);
      return;
    }
    // Those that were called later have time left, unless the failure did not come from the time.
    const now = realTime.nowMs();
    const isLate = now >= untilOf(group) - longestPauseMs;
    const isLeft = ({ until }: Job): boolean => isLate && until > now + longestPauseMs;
    for (const job of group) if (!isLeft(job)) job.reject(error);
    queue.unshift(...group.filter(isLeft));
  }

  function start(): void {
    isScheduled = false;
    while (groups < maxGroups && queue.length > 0) {
      const group = takeGroup(queue);
      groups += 1;
      void commit(group).finally(() => {
        groups -= 1;
        if (queue.length > 0) schedule();
        else if (groups === 0) rest();
      });
    }
  }
  function schedule(): void {
    if (isScheduled) return;
    isScheduled = true;
    setImmediate(start);
  }
  function rest(): void {
    for (const resolve of whenIdle) resolve();
    whenIdle = [];
  }

  return {
    append: (prepared) =>
      new Promise((resolve, reject) => {
        database.refuseIfClosed();
        checkBounds(prepared);
        queue.push({ until: realTime.nowMs() + deadlineMs, prepared, resolve, reject });
        schedule();
      }),
    idle: () =>
      new Promise((resolve) => {
        if (groups === 0 && queue.length === 0) resolve();
        else whenIdle.push(resolve);
      }),
  };
}

type FoundRow = {
  readonly revision: number;
  readonly digest: string;
  readonly id: string | null;
  readonly eventDigest: string | null;
  readonly position: string | null;
};

/** When the first of their deadlines ends. */
const untilOf = (group: readonly Job[]): number => Math.min(...group.map(({ until }) => until));

/** Whether the failure may come from one append of a group: its content, or what is stored at its place. */
const isOfOne = (error: unknown): boolean => error instanceof StoreCorruptedError || !(error instanceof TurnlogError);

/** Takes as many appends from the queue as one call may have. */
function takeGroup(queue: Job[]): readonly Job[] {
  let units = 0;
  let length = 0;
  for (const { prepared } of queue) {
    for (const { data } of prepared.envelopes) units += data.length;
    if (length === maxGroupAppends || (length > 0 && units > maxGroupUnits)) break;
    length += 1;
  }
  return queue.splice(0, length);
}

type Place = { readonly schema: string; readonly storeId: string; readonly seen: string };

/** The statement that appends a group of appends with at least one event each, and returns the positions of their last events. */
export function appendCall(group: readonly PreparedAppend[], { schema, storeId, seen }: Place) {
  const parameters = Array.from({ length: 2 + appendArrays }, (_, n) => `$${n + 1}`).join(", ");
  return {
    text: `SELECT ${schema}.append_1(${parameters}) AS positions`,
    values: [storeId, seen, ...arraysOf(group)],
  };
}

/** The arrays of `append_1`, in the order of its parameters. */
function arraysOf(group: readonly PreparedAppend[]): readonly SqlValue[] {
  const heads = group.map(({ envelopes }) => headOf(envelopes));
  const events = group.flatMap(({ envelopes }, index) =>
    envelopes.map((envelope) => ({ append: index + 1, envelope })),
  );
  return [
    group.map(({ stream }) => stream),
    group.map(({ expectedHead }) => expectedHead?.revision ?? null),
    group.map(({ expectedHead }) => expectedHead?.digest ?? null),
    heads.map((head) => head?.revision ?? null),
    heads.map((head) => head?.digest ?? null),
    group.map(({ namingKey }) => namingKey ?? null),
    events.map(({ append }) => append),
    events.map(({ envelope }) => envelope.revision),
    events.map(({ envelope }) => envelope.id),
    events.map(({ envelope }) => envelope.type),
    events.map(({ envelope }) => envelope.version),
    events.map(({ envelope }) => envelope.at),
    events.map(({ envelope }) => JSON.stringify(envelope.actor)),
    events.map(({ envelope }) => envelope.runId ?? null),
    events.map(({ envelope }) => envelope.frame ?? null),
    events.map(({ envelope }) => envelope.causationId ?? null),
    events.map(({ envelope }) => envelope.tenant ?? null),
    events.map(({ envelope }) => envelope.keyId ?? null),
    events.map(({ envelope }) => envelope.nonce ?? null),
    events.map(({ envelope }) => envelope.encoding),
    events.map(({ envelope }) => envelope.dataDigest),
    events.map(({ envelope }) => envelope.digest),
    events.map(({ envelope }) => envelope.data),
  ];
}
