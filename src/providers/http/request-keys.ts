import { messageOf } from "../../base/error-message.ts";
import { kindOf } from "../../base/options.ts";
import { ProviderError } from "../../engine/ports/provider-error.ts";
import { rememberedKeys } from "../secrets/remembered-keys.ts";
import type { Masked } from "../secrets/secret-spans.ts";
import { secretLengthMin } from "../secrets/secret-values.ts";
import type { KeyAsked, KeySource } from "../settings/connection-options.ts";
import { ProviderSettingsError } from "../settings/settings-error.ts";
import { type Deadline, interruption } from "./deadline.ts";

/** The keys of an endpoint whose caller returns one for each request. */
export type RequestKeys = {
  /**
   * The key of the next request. Waiting for it ends with the request's deadline.
   *
   * @throws {ProviderError} `authentication` if the source returns none, and when the deadline passes; nothing was sent.
   */
  next(deadline: Deadline, asked?: KeyAsked): Promise<string>;
  /** The recent keys, to be masked; a new list only after another key was given out. */
  readonly given: () => Masked;
};

export function requestKeys(source: KeySource): RequestKeys {
  const keys = rememberedKeys();
  return {
    async next(deadline, asked = { isRefused: false }) {
      const key = await keyOf(() => source(asked), deadline);
      if (key.length >= secretLengthMin) keys.with([{ name: "apiKey", value: key }]);
      return key;
    },
    given: () => keys.with([]),
  };
}

/** The lasting secrets with the recent keys; a new list only after another key was given out. */
export function maskedBeside(keys: RequestKeys | null, lasting: Masked): () => Masked {
  if (keys === null) return () => lasting;
  let given = keys.given();
  let all = lasting;
  return () => {
    if (given !== keys.given()) all = [...lasting, ...keys.given()];
    given = keys.given();
    return all;
  };
}

async function keyOf(source: () => string | Promise<string>, deadline: Deadline): Promise<string> {
  const { signal } = deadline;
  let stop = (): void => undefined;
  const ended = new Promise<null>((resolve) => {
    stop = () => {
      resolve(null);
    };
    signal.addEventListener("abort", stop, { once: true });
  });
  try {
    const key: unknown = await Promise.race([(async () => source())(), ended]);
    if (typeof key === "string" && key !== "") return key;
    throw new TypeError(`it returned ${kindOf(key)}, not a text`);
  } catch (cause) {
    const { message, kind } = interruption(deadline) ?? {
      message: `there is no key for the request: ${cause instanceof ProviderSettingsError ? "" : "the function that returns keys failed: "}${messageOf(cause)}`,
      kind: "authentication",
    };
    throw new ProviderError(`${message}; nothing was sent`, { kind, outcome: "rejected", cause });
  } finally {
    signal.removeEventListener("abort", stop);
  }
}
