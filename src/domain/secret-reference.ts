import { jsonOpaque } from "../base/frozen-json.ts";
import type { JsonValue } from "../base/json.ts";
import { kindOf } from "../base/options.ts";

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
