import type { Layer } from "../../../src/engine/ports/middleware.ts";
import { type CacheStore, cache } from "../../../src/middleware/cache.ts";
import { conditional } from "../../../src/middleware/conditional.ts";
import { contentFilter } from "../../../src/middleware/content-filter.ts";
import { recover } from "../../../src/middleware/recover.ts";
import { redact } from "../../../src/middleware/redact.ts";
import type { Random } from "../coherence/random.ts";

/** Where layers reach outside: what a cache keeps, and what a check asks. Both are effects. */
export type Outside = { readonly store: CacheStore; readonly isBad: (text: string) => boolean };

/**
 * A layer of `turnlog/layers`, drawn: the log answers its effects, and all else that it does follows from the Turn. Without an outside it has no
 * effects.
 */
export function broughtLayer(random: Random, name: string, outside: Outside | null): Layer {
  const kinds = [
    "redact",
    "filter",
    "conditional",
    "recover",
    ...(outside === null ? [] : ["cache", "check"]),
  ] as const;
  switch (random.pick(kinds)) {
    case "redact": {
      const strategy = random.pick(["restore", "restore", "redact", "mask", "hash"] as const);
      return redact({
        ...{ name, detect: [{ kind: "word", find: random.pick(words) }], strategy },
        ...(strategy === "hash" ? { key: "secret" } : {}),
      });
    }
    case "filter": {
      // A warning is an effect, and blocked content ends the run.
      const action = outside === null ? "redact" : random.pick(["redact", "redact", "warn", "block"] as const);
      const isFound = (text: string): boolean => (action === "block" ? /[37]\b/ : /[0-9]/).test(text);
      // Other arguments have another result, which a recording without the layer does not have.
      const mayEdit = (kind: string): boolean => outside !== null || kind !== "tool_call";
      const check = (text: string, { kind }: { readonly kind: string }) =>
        isFound(text) && mayEdit(kind) ? { reason: "a number", values: ["3", "7"] } : null;
      return contentFilter({ name, action, check });
    }
    case "conditional": {
      const size = 1 + random.below(5);
      const chosen = redact({ name: "chosen", detect: [{ kind: "word", find: random.pick(words) }] });
      const otherwise = recover({ name: "otherwise", answer: "It did not work." });
      return conditional({ name, version: "1.0.0", when: ({ length }) => length > size, layer: chosen, otherwise });
    }
    case "cache":
      return cache({ name, key: "secret", ttl: 1_000, store: outside?.store ?? none });
    case "check":
      return contentFilter({
        ...{ name, outside: true, action: "redact", ifUnavailable: "pass" },
        check: (text) => (outside?.isBad(text) === true ? "it is bad" : null),
      });
    default:
      return recover({
        name,
        answer: (_, turn) => (turn.length % 2 === 0 ? `It did not work, of ${turn.length}.` : null),
      });
  }
}

const none: CacheStore = { get: () => undefined, set: () => undefined };

/** Words that random conversations say, and their models repeat. */
const words = [/\b(hello|found|answer)\b/, /\b(note|told|said|shows)\b/, /\bthen\b/, /\b\d{3}\b/] as const;
