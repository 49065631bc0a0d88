import { jsonOpaque } from "../../base/frozen-json.ts";
import type { JsonValue } from "../../base/json.ts";
import { kindOf } from "../../base/options.ts";
import { type Sha256, sha256Hex } from "../../base/sha256.ts";
import { utf8Length } from "../../base/utf8.ts";

/**
 * Replaces, in an event's data, a long string or a big list or object that is stored beside the event. As JSON it is
 * `{"$blob": {sha256, bytes}}`, for a list or an object `{"$blob": {sha256, bytes, json: true}}` with digest and length of its
 * JSON text. A caller's object of that form is ordinary data, so check with `instanceof`.
 */
export class BlobReference {
  // Lets data hold a reference in place of any JSON object.
  readonly [member: string]: JsonValue | undefined;
  readonly $blob: { readonly sha256: Sha256; readonly bytes: number; readonly json?: true };

  get [jsonOpaque](): true {
    return true;
  }

  constructor(sha256: Sha256, bytes: number, holds: "text" | "json" = "text") {
    this.$blob = Object.freeze(holds === "json" ? { sha256, bytes, json: true } : { sha256, bytes });
    Object.freeze(this);
  }
}

/** Names, in an event's data, a secret that is never stored. As JSON it is `{"$secret": name}`. */
export class SecretReference {
  readonly [member: string]: JsonValue | undefined;
  readonly $secret: string;

  get [jsonOpaque](): true {
    return true;
  }

  constructor(name: string) {
    this.$secret = name;
    Object.freeze(this);
  }
}

/**
 * A reference to a secret in a provider's settings, headers or key: `secret("CRM")`, with the value under that name in the provider's
 * `secrets`. The log records only the name.
 *
 * @throws {TypeError} if the name is not a text, or is empty.
 */
export function secretReference(name: string): SecretReference {
  // JavaScript callers have no types.
  if (typeof name === "string" && name !== "") return new SecretReference(name);
  throw new TypeError(`secret takes the name of a secret, not ${kindOf(name)}: secret("CRM")`);
}

/**
 * The reference to a text. A text with a lone surrogate has no UTF-8 form, so its JSON text is hashed instead: hashed directly,
 * it would share a digest with the text that has U+FFFD in that place.
 */
export function blobReferenceTo(text: string, holds: "text" | "json" = "text"): BlobReference {
  return new BlobReference(sha256Hex(text.isWellFormed() ? text : JSON.stringify(text)), utf8Length(text), holds);
}
