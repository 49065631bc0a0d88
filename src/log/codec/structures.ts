import { isJsonList, isJsonObject, type JsonObject, type JsonValue } from "../../base/json.ts";
import { blobIdSchema } from "../../domain/ids.ts";
import { SecretReference } from "../../domain/secret-reference.ts";
import { escapedBytes } from "./bounds.ts";
import { type BlobNaming, BlobReference } from "./references.ts";

/** A list or an object of an event's data. */
export type Structure = JsonObject | readonly JsonValue[];

/** The replacements of parts of an event's data. */
type Replacements = {
  readonly texts: ReadonlyMap<string, BlobReference>;
  readonly structures: ReadonlyMap<Structure, BlobReference>;
  readonly maxReferenceBytes: number;
};

type Measured = { readonly bytes: number; readonly structures: readonly Candidate[] };
type Candidate = { readonly structure: Structure; readonly bytes: number };

/**
 * Chooses the lists and objects of data to store beside it, until the rest takes at most `maxBytes` bytes inside the envelope.
 * Each time it takes the smallest one that is enough, so that as much as possible can be read without blobs; if none is enough,
 * the biggest.
 */
export function chooseStructures(
  data: JsonObject,
  texts: ReadonlyMap<string, BlobReference>,
  { maxBytes, idOf }: { readonly maxBytes: number; readonly idOf: BlobNaming },
): ReadonlyMap<Structure, BlobReference> {
  const chosen = new Map<Structure, BlobReference>();
  const longest = longestReference(idOf);
  const maxReferenceBytes = escapedBytes(JSON.stringify(longest)) + 16;
  for (;;) {
    const { bytes, structures } = measure(data, { texts, structures: chosen, maxReferenceBytes });
    // The last one is the data itself, which always stays in the event.
    const worth = structures.slice(0, -1).filter((candidate) => candidate.bytes > maxReferenceBytes);
    if (bytes <= maxBytes || worth.length === 0) return chosen;
    const smallestFirst = worth.toSorted((left, right) => left.bytes - right.bytes);
    const enough = bytes - maxBytes + maxReferenceBytes;
    const next = smallestFirst.find((candidate) => candidate.bytes >= enough) ?? smallestFirst.at(-1);
    if (next === undefined) return chosen;
    // Its text is needed only for writing; here its length counts.
    chosen.set(next.structure, longest);
  }
}

// As long as any reference, so that replacing a structure always saves space.
const longestReference = (idOf: BlobNaming): BlobReference => {
  const members = { sha256: "0".repeat(64), bytes: 0, json: true } as const;
  return new BlobReference(idOf === null ? members : { ...members, id: blobIdSchema.parse(members.sha256) });
};

/**
 * The bytes of data inside the envelope, and of each list and object in it, inner ones first. Structures that hold a reference
 * that was read stay in place, so that no blob refers to another.
 */
function measure(data: JsonObject, { texts, structures, maxReferenceBytes }: Replacements): Measured {
  const found: Candidate[] = [];
  function bytesOf(value: JsonValue): Sized {
    if (typeof value === "string") return sized(escapedBytes(JSON.stringify(texts.get(value) ?? value)));
    if (!isJsonList(value) && !isJsonObject(value)) return sized(String(value).length);
    if (value instanceof SecretReference) return sized(escapedBytes(JSON.stringify(value)));
    if (value instanceof BlobReference) return { bytes: escapedBytes(JSON.stringify(value)), mayMove: false };
    if (structures.has(value)) return sized(maxReferenceBytes);
    const parts = isJsonList(value) ? value.map(bytesOf) : membersOf(value);
    const bytes = parts.reduce((sum, part) => sum + part.bytes, 1 + Math.max(1, parts.length));
    const mayMove = parts.every((part) => part.mayMove);
    if (mayMove || value === data) found.push({ structure: value, bytes });
    return { bytes, mayMove };
  }
  function membersOf(object: JsonObject): readonly Sized[] {
    const members: Sized[] = [];
    for (const [name, value] of Object.entries(object)) {
      if (value === undefined) continue;
      const { bytes, mayMove } = bytesOf(value);
      // Includes the colon. A name that looks like a reference's gets one more `$`.
      members.push({ bytes: bytes + escapedBytes(JSON.stringify(name)) + 2, mayMove });
    }
    return members;
  }
  return { bytes: bytesOf(data).bytes, structures: found };
}

type Sized = { readonly bytes: number; readonly mayMove: boolean };

const sized = (bytes: number): Sized => ({ bytes, mayMove: true });
