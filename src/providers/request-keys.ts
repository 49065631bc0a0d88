import { messageOf } from "../base/error-message.ts";
import { kindOf } from "../base/options.ts";
import { ProviderError } from "../engine/stack/provider.ts";
import { type Deadline, interruption } from "./deadline.ts";
import type { KeyAsked, KeySource } from "./openai-options.ts";
import type { Masked } from "./secret-spans.ts";
import { secretLengthMin } from "./secrets.ts";
import { ProviderSettingsError } from "./settings-error.ts";

/** The keys of an endpoint whose caller gives one for each request. */
export type RequestKeys = {
  /**
   * The key of the next request. Its source is waited for no longer than the answer.
   *
   * @throws {ProviderError} `authentication` where the source gives none, and when nobody waits any longer: nothing was sent.
   */
  next(deadline: Deadline, asked?: KeyAsked): Promise<string>;
  /** The keys that were given out lately, to be masked; another list only once another key was given out. */
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

/** Credentials that do not last: the newest of them, to be masked. */
export type RememberedKeys = {
  /** Remembers these too; another list only once there is another. */
  readonly with: (used: Masked) => Masked;
};

export function rememberedKeys(): RememberedKeys {
  let all: Masked = [];
  const isKnown = ({ name, value }: Masked[number]): boolean =>
    all.some((known) => known.name === name && known.value === value);
  return {
    with(used) {
      const news = used.filter((each) => !isKnown(each));
      if (news.length > 0) all = [...news, ...all].slice(0, maxGiven + used.length);
      return all;
    },
  };
}

/** What is masked at all times, and the keys that were given out lately; another list only once another key was. */
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

/** An answer may repeat the key of a request that was sent a while ago. */
const maxGiven = 32;

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
    throw new TypeError(`it gave ${kindOf(key)}, and no text`);
  } catch (cause) {
    const { message, kind } = interruption(deadline) ?? {
      message: `there is no key for the request: ${cause instanceof ProviderSettingsError ? "" : "the function that gives keys failed: "}${messageOf(cause)}`,
      kind: "authentication",
    };
    throw new ProviderError(`${message}; nothing was sent`, { kind, outcome: "rejected", cause });
  } finally {
    signal.removeEventListener("abort", stop);
  }
}
