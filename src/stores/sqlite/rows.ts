import type { SQLInputValue } from "node:sqlite";
import type { Actor } from "../../domain/actor.ts";
import type { Envelope, StoredEnvelope } from "../../log/ports/event-store.ts";

/**
 * A row of `events` with its stream's name, in the order of `eventColumns`. Its position is text, because SQLite's integers can
 * exceed the exact range of a number.
 */
export type EventRow = readonly [
  stream: string,
  position: string,
  revision: number,
  actor: string,
  data: string,
  id: string,
  type: string,
  version: number,
  at: string,
  runId: string | null,
  frame: string | null,
  causationId: string | null,
  tenant: string | null,
  keyId: string | null,
  nonce: string | null,
  /** Null means `lines`, so that most rows need not read it. */
  encoding: Envelope["encoding"] | null,
  dataDigest: string,
  digest: string,
];

/**
 * The columns of `EventRow`, from a join of `streams` with `events AS event`. As REAL, a damaged number reads as a wrong one; as
 * INTEGER, one beyond 2^53 would make the whole page unreadable.
 */
export const eventColumns = [
  ...["streams.name", "CAST(event.position AS TEXT)", "CAST(event.revision AS REAL)", "event.actor", "event.data"],
  ...["event.id", "event.type", "CAST(event.version AS REAL)", "event.at", "event.run_id", "event.frame"],
  ...["event.causation_id", "event.tenant", "event.key_id", "event.nonce"],
  ...["NULLIF(event.encoding, 'lines')", "event.data_digest", "event.digest"],
].join(", ");

export const insertEvent = `INSERT INTO events (
    stream, revision, version, id, type, at, actor, run_id, frame, causation_id, tenant, key_id, nonce,
    encoding, data_digest, digest, data
  ) VALUES (?${", ?".repeat(16)})`;

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

/** Creates envelopes from rows. Does not check their content: the digests do. */
export function createEnvelopes(): (row: EventRow) => StoredEnvelope {
  const readActor = createActors();
  // Events of one stream share its name.
  let lastStream = "";
  return (row) => {
    const [name, position, revision, actor, data, id, type, version, at, runId, frame, causationId, ...others] = row;
    const [tenant, keyId, nonce, encoding, dataDigest, digest] = others;
    if (name !== lastStream) lastStream = name;
    // Runs for every event read, so it creates one object and spreads nothing.
    const envelope: { -readonly [Member in keyof StoredEnvelope]: StoredEnvelope[Member] } = {
      id,
      stream: lastStream,
      revision,
      position,
      type,
      version,
      at,
      actor: readActor(actor),
      encoding: encoding ?? "lines",
      data,
      dataDigest,
      digest,
    };
    if (runId !== null) envelope.runId = runId;
    if (frame !== null) envelope.frame = frame;
    if (causationId !== null) envelope.causationId = causationId;
    if (tenant !== null) envelope.tenant = tenant;
    if (keyId !== null) envelope.keyId = keyId;
    if (nonce !== null) envelope.nonce = nonce;
    return envelope;
  };
}

/** How many actors to cache: a conversation has few writers, but a layer counts once per frame. */
const maxActors = 256;

/** Events with the same actor share its object, up to the cache limit. */
function createActors(): (text: string) => Actor {
  const actorByText = new Map<string, Actor>();
  return (text) => {
    const known = actorByText.get(text);
    if (known !== undefined) return known;
    const actor = parseActor(text);
    if (actorByText.size === maxActors) actorByText.clear();
    actorByText.set(text, actor);
    return actor;
  };
}

function parseActor(text: string): Actor {
  const value = parseJson(text);
  // The same text can be written with different escapes, but the digest covers only the parsed value.
  const isExact = !text.includes("\\u") || JSON.stringify(value) === text;
  // The column is only ever written from an actor. Readers and the digest check that it is unchanged.
  return (isExact ? value : text) as Actor;
}

/** Text that is not JSON stays text: readers must be able to show the event. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
