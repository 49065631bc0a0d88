import type { ExpectedRevision, ProposedEvent } from "./event-log.ts";
import { CallError } from "./failures.ts";
import type { shared } from "./protocol.ts";
import type { Unkindness } from "./unkindness.ts";

type Uuid = InstanceType<typeof shared.UUID>;

/** The two services have a message class each; these are the members that both have. */
interface ProposedMessage {
  getId(): Uuid | undefined;
  getMetadataMap(): { get(key: string): string | undefined };
  getData_asU8(): Uint8Array;
  getCustomMetadata_asU8(): Uint8Array;
}

interface ExpectedOptions {
  hasAny(): boolean;
  hasNoStream(): boolean;
  hasStreamExists(): boolean;
}

/**
 * The event in a message.
 *
 * @throws {CallError} for an id that is no UUID, and for a missing type or content type.
 */
export function proposedEvent(message: ProposedMessage): ProposedEvent {
  const required = (property: string): string => {
    const value = message.getMetadataMap().get(property);
    if (value === undefined) throw new CallError({ kind: "missing-metadata", property });
    return value;
  };
  return {
    id: canonicalUuid(message.getId()?.getString() ?? ""),
    type: required("type"),
    isJson: required("content-type") === "application/json",
    data: message.getData_asU8(),
    metadata: message.getCustomMetadata_asU8(),
  };
}

/** The bytes that the server counts against its limit (Event.SizeOnDisk): two for each character of the type. */
export const sizeOnDisk = ({ type, data, metadata }: ProposedEvent, counted: Unkindness["countedBytes"]): number =>
  counted === "data" ? data.length : data.length + metadata.length + 2 * type.length;

/** @throws {CallError} where a request says nothing of it. */
export function expectedOf(options: ExpectedOptions, revision: string | null): ExpectedRevision {
  if (options.hasAny()) return "any";
  if (options.hasNoStream()) return "no_stream";
  if (options.hasStreamExists()) return "stream_exists";
  if (revision === null) throw new CallError({ kind: "bad-request", message: "The expected revision is missing." });
  return BigInt(revision);
}

/** @throws {CallError} for a stream without a name. */
export function namedStream(identifier: InstanceType<typeof shared.StreamIdentifier> | undefined): string {
  const name = streamName(identifier);
  if (name === "") throw new CallError({ kind: "bad-request", message: "The name of the stream is empty." });
  return name;
}

export const streamName = (identifier: InstanceType<typeof shared.StreamIdentifier> | undefined): string =>
  Buffer.from(identifier?.getStreamName_asU8() ?? []).toString("utf8");

/** As Guid.Parse: braces and missing hyphens are accepted, and what is stored is the canonical form. */
function canonicalUuid(text: string): string {
  const bare = text.trim().replace(/^[{(]([^{}()]*)[})]$/, "$1");
  if (!/^[0-9a-f]{8}(-?)[0-9a-f]{4}\1[0-9a-f]{4}\1[0-9a-f]{4}\1[0-9a-f]{12}$/i.test(bare)) {
    const message = "Guid should contain 32 digits with 4 dashes (xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx).";
    throw new CallError({ kind: "bad-request", message });
  }
  const digits = bare.replaceAll("-", "").toLowerCase();
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}
