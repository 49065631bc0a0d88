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
  const { runId = null, frame = null, causationId = null, tenant = null, keyId = null, nonce = null } = envelope;
  return [
    ...[streamNumber, envelope.revision, envelope.version, envelope.id, envelope.type, envelope.at],
    ...[JSON.stringify(envelope.actor), runId, frame, causationId, tenant, keyId, nonce],
    ...[envelope.encoding, envelope.dataDigest, envelope.digest, envelope.data],
  ];
}

/** The envelope of a row. Its content is not checked: that is what the digests are for. */
export function envelopeOf(row: EventRow): StoredEnvelope {
  return {
    ...{ id: row.id, stream: row.stream, revision: row.revision, position: row.position },
    ...{ type: row.type, version: row.version, at: row.at, actor: parseActor(row) },
    ...(row.run_id === null ? {} : { runId: row.run_id }),
    ...(row.frame === null ? {} : { frame: row.frame }),
    ...(row.causation_id === null ? {} : { causationId: row.causation_id }),
    ...(row.tenant === null ? {} : { tenant: row.tenant }),
    ...(row.key_id === null ? {} : { keyId: row.key_id }),
    ...(row.nonce === null ? {} : { nonce: row.nonce }),
    ...{ encoding: row.encoding, data: row.data, dataDigest: row.data_digest, digest: row.digest },
  };
}

function parseActor(row: EventRow): Actor {
  try {
    // The column is written from an actor only; that it was not changed since is what the digest shows.
    return JSON.parse(row.actor) as Actor;
  } catch (cause) {
    throw new StoreCorruptedError(`event ${row.revision} of ${row.stream} has an actor that cannot be read`, { cause });
  }
}
