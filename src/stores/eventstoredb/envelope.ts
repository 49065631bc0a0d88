import { canonicalJson } from "../../base/canonical-json.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../base/json.ts";
import type { Actor } from "../../domain/actor.ts";
import type { Envelope, StoredEnvelope } from "../../log/ports/event-store.ts";
import { StoreCorruptedError, StoreTooNewError } from "../../log/ports/store-errors.ts";
import { type EsdbEvent, type EsdbMessage, textOfBytes } from "./messages.ts";

/** The `turnlog` member of every event's metadata; a greater number is from a newer turnlog. */
export const formatVersion = 1;

const encoder = new TextEncoder();

/** Id, type, stream, revision and position are the server's own members; the rest of an envelope is metadata. */
export function serverEventOf(envelope: Envelope): EsdbMessage {
  const { id, type, data } = envelope;
  if (!uuidPattern.test(id))
    throw new RangeError(`${id} is not a lower-case UUID: EventStoreDB accepts only those as ids`);
  return { id, type, data: encoder.encode(data), metadata: encoder.encode(metadataText(envelope)) };
}

const uuidPattern = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

function metadataText(envelope: Envelope): string {
  const metadata: Record<string, JsonValue> = {
    turnlog: formatVersion,
    version: envelope.version,
    at: envelope.at,
    actor: envelope.actor,
    encoding: envelope.encoding,
    dataDigest: envelope.dataDigest,
    digest: envelope.digest,
  };
  for (const name of optionalNames) {
    const value = envelope[name];
    if (value !== undefined) metadata[name] = value;
  }
  return canonicalJson(metadata);
}

const optionalNames = ["runId", "frame", "causationId", "tenant", "keyId", "nonce"] as const;

/**
 * The envelope of an event that was read; null for an event of another program. Its content is not checked: the
 * digests do that.
 *
 * @throws {StoreTooNewError} if a newer turnlog wrote it.
 * @throws {StoreCorruptedError} if it has turnlog's mark but lacks a member.
 */
export function envelopeOf(event: EsdbEvent, stream: string): StoredEnvelope | null {
  const metadata = readMetadata(event);
  if (metadata === null) return null;
  const { revision } = event;
  const { turnlog, version, at, actor, encoding, dataDigest, digest } = metadata;
  if (typeof turnlog === "number" && turnlog > formatVersion) {
    throw new StoreTooNewError(`a newer turnlog wrote event ${revision} of ${stream}: update turnlog`);
  }
  const isWhole = typeof version === "number" && typeof at === "string" && encoding === "json" && isJsonObject(actor);
  if (!isWhole || typeof dataDigest !== "string" || typeof digest !== "string") {
    throw new StoreCorruptedError(`event ${revision} of ${stream} has metadata that cannot be read`);
  }
  const envelope: { -readonly [Member in keyof StoredEnvelope]: StoredEnvelope[Member] } = {
    id: event.id,
    stream,
    revision,
    position: event.position,
    type: event.type,
    version,
    at,
    // Metadata is only ever written from an actor. The digest shows whether it is unchanged.
    actor: actor as Actor,
    encoding,
    data: textOfBytes(event.data),
    dataDigest,
    digest,
  };
  for (const name of optionalNames) {
    const value = metadata[name];
    if (typeof value === "string") envelope[name] = value;
  }
  return envelope;
}

/** Metadata with turnlog's mark; null for events of another program. */
function readMetadata({ metadata: bytes }: EsdbEvent): JsonObject | null {
  if (bytes.length === 0) return null;
  try {
    const metadata: unknown = JSON.parse(textOfBytes(bytes));
    return isJsonObject(metadata) && typeof metadata["turnlog"] === "number" ? metadata : null;
  } catch {
    return null;
  }
}
