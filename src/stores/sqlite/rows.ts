import type { SQLInputValue } from "node:sqlite";
import type { Actor } from "../../domain/actor.ts";
import { type Envelope, StoreCorruptedError, type StoredEnvelope } from "../../engine/event-store.ts";

/** A row of `events`, its position as text: SQLite's integers go beyond what a number holds exactly. */
export type EventRow = {
  readonly stream: string;
  readonly position: string;
  readonly revision: number;
  readonly id: string;
  readonly type: string;
  readonly version: number;
  readonly at: string;
  readonly actor: string;
  readonly run_id: string | null;
  readonly frame: string | null;
  readonly causation_id: string | null;
  readonly tenant: string | null;
  readonly key_id: string | null;
  readonly nonce: string | null;
  readonly encoding: "json";
  readonly data_digest: string;
  readonly digest: string;
  readonly data: string;
};

const texts = [
  ...["id", "type", "at", "actor", "run_id", "frame", "causation_id", "tenant", "key_id", "nonce"],
  ...["encoding", "data_digest", "digest", "data"],
];

/**
 * The columns of `EventRow`, of a join of `streams` with `events AS event`. As REAL, a damaged number is a wrong one; as
 * INTEGER, one beyond 2^53 would make the whole page unreadable.
 */
export const eventColumns = [
  ...["streams.name AS stream", "CAST(event.position AS TEXT) AS position"],
  ...["revision", "version"].map((name) => `CAST(event.${name} AS REAL) AS ${name}`),
  ...texts.map((name) => `event.${name}`),
].join(", ");

export const insertEvent = `INSERT INTO events (stream, revision, version, ${texts.join(", ")}) VALUES (?, ?, ?${", ?".repeat(texts.length)})`;

/** The parameters of `insertEvent`. */
export function eventParameters(streamNumber: number, envelope: Envelope): SQLInputValue[] {
  return [
    streamNumber,
    envelope.revision,
    envelope.version,
    envelope.id,
    envelope.type,
    envelope.at,
    JSON.stringify(envelope.actor),
    envelope.runId ?? null,
    envelope.frame ?? null,
    envelope.causationId ?? null,
    envelope.tenant ?? null,
    envelope.keyId ?? null,
    envelope.nonce ?? null,
    envelope.encoding,
    envelope.dataDigest,
    envelope.digest,
    envelope.data,
  ];
}

/** The envelope of a row. Its content is not checked: that is what the digests are for. */
export function envelopeOf(row: EventRow): StoredEnvelope {
  // Runs for every event that is read, so it makes one object and spreads nothing.
  const envelope: { -readonly [Member in keyof StoredEnvelope]: StoredEnvelope[Member] } = {
    id: row.id,
    stream: row.stream,
    revision: row.revision,
    position: row.position,
    type: row.type,
    version: row.version,
    at: row.at,
    actor: parseActor(row),
    encoding: row.encoding,
    data: row.data,
    dataDigest: row.data_digest,
    digest: row.digest,
  };
  if (row.run_id !== null) envelope.runId = row.run_id;
  if (row.frame !== null) envelope.frame = row.frame;
  if (row.causation_id !== null) envelope.causationId = row.causation_id;
  if (row.tenant !== null) envelope.tenant = row.tenant;
  if (row.key_id !== null) envelope.keyId = row.key_id;
  if (row.nonce !== null) envelope.nonce = row.nonce;
  return envelope;
}

function parseActor(row: EventRow): Actor {
  try {
    // The column is written from an actor only; that it was not changed since is what the digest shows.
    const actor = JSON.parse(row.actor) as Actor;
    // Escapes can be written in two ways, which the digest of what they mean does not tell apart.
    if (row.actor.includes("\\u") && JSON.stringify(actor) !== row.actor) throw new Error("it was written otherwise");
    return actor;
  } catch (cause) {
    throw new StoreCorruptedError(`event ${row.revision} of ${row.stream} has an actor that cannot be read`, { cause });
  }
}
