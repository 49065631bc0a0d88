import { jsonOpaque } from "../../base/frozen-json.ts";
import type { JsonValue } from "../../base/json.ts";
import { kindOf } from "../../base/options.ts";
import { type Sha256, sha256Hex } from "../../base/sha256.ts";
import { utf8Length } from "../../base/utf8.ts";

/**
 * Stands in an event's data for a long string, or for a big list or object, that is stored beside the event. As JSON it is
 * `{"$blob": {sha256, bytes}}`, of a list or an object `{"$blob": {sha256, bytes, json: true}}` with digest and length of its
 * JSON text; an object of that look that a caller made is ordinary data, so ask `instanceof`.
 */
export class BlobReference {
  // Lets data hold a reference wherever it holds a JSON object.
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

/** Stands in an event's data for a secret that is never stored, by its name. As JSON it is `{"$secret": name}`. */
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
 * Stands for a secret in a provider's settings, its headers or its key: `secret("CRM")`, with the value under that name in the
 * provider's `secrets`. What is recorded is the name.
 *
 * @throws {TypeError} for a name that is none.
 */
export function secretReference(name: string): SecretReference {
  // Callers may have no types.
  if (typeof name === "string" && name !== "") return new SecretReference(name);
  throw new TypeError(`secret takes the name of a secret, not ${kindOf(name)}: secret("CRM")`);
}

/**
 * The reference to a text. A text with a lone surrogate has no UTF-8 form, so it goes by its JSON text instead: hashed as
 * it is, it would share a digest with the text that has U+FFFD in that place.
 */
export function blobReferenceTo(text: string, holds: "text" | "json" = "text"): BlobReference {
  return new BlobReference(sha256Hex(text.isWellFormed() ? text : JSON.stringify(text)), utf8Length(text), holds);
}
