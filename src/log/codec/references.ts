import { jsonOpaque } from "../../base/frozen-json.ts";
import type { JsonObject, JsonValue } from "../../base/json.ts";
import { type Sha256, sha256Hex } from "../../base/sha256.ts";
import { utf8Length } from "../../base/utf8.ts";
import { type BlobId, blobIdSchema } from "../../domain/ids.ts";

/**
 * Replaces, in an event's data, a long string or a big list or object that is stored beside the event. As JSON it is
 * `{"$blob": {sha256, bytes}}`, for a list or an object `{"$blob": {sha256, bytes, json: true}}` with digest and length of its
 * JSON text. In an event in lines it also has the `id` by which the stream of the text is named. A caller's object of that form is ordinary data,
 * so check with `instanceof`.
 */
export class BlobReference {
  // Lets data hold a reference in place of any JSON object.
  readonly [member: string]: JsonValue | undefined;
  readonly $blob: BlobMembers;

  get [jsonOpaque](): true {
    return true;
  }

  constructor({ sha256, bytes, id, json }: BlobMembers) {
    const own = id === undefined ? { sha256, bytes } : { sha256, bytes, id };
    this.$blob = Object.freeze(json === undefined ? own : { ...own, json });
    Object.freeze(this);
  }
}

type BlobMembers = {
  readonly sha256: Sha256;
  readonly bytes: number;
  readonly id?: BlobId;
  readonly json?: true;
};

/** Names the blobs of a conversation in lines. Null in `json`, where a blob's stream is named by its hash. */
export type BlobNaming = ((sha256: Sha256) => BlobId) | null;

/**
 * The reference to a text. A text with a lone surrogate has no UTF-8 form, so its JSON text is hashed instead: hashed directly,
 * it would share a digest with the text that has U+FFFD in that place.
 */
export function blobReferenceTo(
  text: string,
  { holds = "text", idOf = null }: { readonly holds?: "text" | "json"; readonly idOf?: BlobNaming } = {},
): BlobReference {
  const sha256 = sha256Hex(text.isWellFormed() ? text : JSON.stringify(text));
  const id = idOf === null ? {} : { id: idOf(sha256) };
  return new BlobReference({ sha256, bytes: utf8Length(text), ...id, ...(holds === "json" ? { json: true } : {}) });
}

/** The reference with these members, as data that was read has them; null if they are not those of a reference. */
export function blobReferenceIn({ sha256, bytes, id, json }: JsonObject): BlobReference | null {
  if (typeof sha256 !== "string" || typeof bytes !== "number" || (json !== undefined && json !== true)) return null;
  const named = blobIdSchema.safeParse(id);
  const own = named.success ? { sha256, bytes, id: named.data } : { sha256, bytes };
  return new BlobReference(json === true ? { ...own, json } : own);
}
