import * as z from "zod";
import { divergenceSchema } from "../../domain/events/inference-events.ts";
import { sha256Schema } from "../../domain/ids.ts";
import { at, change, count, dollars, list, revision, stream } from "./parts.ts";

/** Who changed a prompt. */
const cacheAuthor = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("layer"), name: z.string(), version: z.string() }),
  z.strictObject({ kind: z.enum(["caller", "compaction", "erasure", "settings", "engine"]) }),
]);

const tokens = z.strictObject({ tokens: count, isAbout: z.boolean() });
const place = z.strictObject({ stream, revision, inferenceId: z.string(), at });
const lifetime = z.strictObject({ leastMs: z.number().nullable(), mostMs: z.number().nullable() });

const price = z.strictObject({
  /** Null if a class has no price. */
  usd: dollars.nullable(),
  notPriced: list(
    z.strictObject({
      class: z.string(),
      tokens: count,
      why: z.enum(["no-prices", "no-entry", "ambiguous", "no-price"]),
    }),
  ),
  /** The entry of the price file. */
  entry: z.string().nullable(),
  file: z.string(),
  sha256: sha256Schema,
  format: z.enum(["litellm", "models.dev"]),
});

/** Why a request read from the prompt cache what it read: a part of `turnlog why`. */
export const requestCache = z.strictObject({
  /** `read`, `changed`, `tools-changed`, `expired` and so on: docs/COSTS.md lists them. */
  cause: z.string(),
  /** What it would be by the rules alone. */
  foreseen: z.string(),
  /** The earlier request that shares most with this one. */
  against: place.nullable(),
  /** The first part of the body that is not shared. */
  unit: z
    .strictObject({
      path: z.string(),
      kind: z.enum(["setting", "tool", "system", "block"]),
      name: z.string().nullable(),
    })
    .nullable(),
  /** The first block that differs; its index is in the Turn. */
  divergence: z
    .strictObject({
      ...divergenceSchema.shape,
      change: z.enum([...divergenceSchema.shape.change.options, "erased"]),
      block: z.string(),
    })
    .nullable(),
  author: cacheAuthor.nullable(),
  /** The text of that block then and now. */
  edit: z
    .strictObject({ before: z.string().nullable(), after: z.string().nullable(), changed: change.nullable() })
    .nullable(),
  changedSettings: list(z.string()),
  tools: z.strictObject({ added: list(z.string()), removed: list(z.string()) }),
  /** How long ago the entry was last used. */
  idleMs: z.number().nullable(),
  /** What the vendor says of this cache. */
  rules: z
    .strictObject({
      minimumTokens: z.number().nullable(),
      lifetimes: z.record(z.string(), lifetime),
      source: z.strictObject({ title: z.string(), readOn: z.string() }).nullable(),
    })
    .nullable(),
  /** As the provider reported them. */
  tokens: z
    .strictObject({ input: count, uncached: count, read: count.nullable(), written: z.record(z.string(), count) })
    .nullable(),
  shared: tokens.nullable(),
  foreseenRead: tokens.nullable(),
  expected: tokens.nullable(),
  lost: tokens.nullable(),
  /** What the provider says of the prompt, compared with the newest answer before it; null if it was not asked. */
  serverSays: z
    .strictObject({
      says: z.enum(["same", "changed", "not-found", "unavailable"]),
      /** In the provider's own word. */
      reason: z.string().nullable(),
      lostTokens: z.number().nullable(),
      reusableTokens: z.number().nullable(),
      against: place.nullable(),
      /** Whether turnlog finds the same difference; null if it cannot tell. */
      agrees: z.boolean().nullable(),
    })
    .nullable(),
  /** What the lost tokens cost more than reading them would have. */
  price: price.nullable(),
  /** What would have avoided the miss, by name. */
  avoid: z.string().nullable(),
});
export type RequestCacheDocument = z.infer<typeof requestCache>;

/** `turnlog cache` */
export const cacheDocument = z.strictObject({
  since: at.nullable(),
  prices: z
    .strictObject({ file: z.string(), sha256: sha256Schema, format: z.enum(["litellm", "models.dev"]) })
    .nullable(),
  requests: count,
  /** Input of the requests: all of it, what was read from caches, and what was paid for again. */
  tokens: z.strictObject({ input: count, read: count, lost: count }),
  /** What was read of the input; null if no provider reported it. */
  hitRate: z.number().min(0).max(1).nullable(),
  /** The worst first. */
  misses: list(
    z.strictObject({
      cause: z.string(),
      /** `redact@1.2.0` for a layer, else `caller`, `compaction`, `erasure`, `settings`, `engine`; null if the prompt was not changed. */
      author: z.string().nullable(),
      requests: count,
      lost: count,
      /** About how many tokens the author removed from prompts. */
      removed: count,
      money: dollars.nullable(),
      /** Lost tokens without a price. */
      notPriced: count,
    }),
  ),
  money: dollars.nullable(),
  /** Answers in which the provider says what of the prompt changed, and how many of these turnlog agrees or disagrees with. */
  serverSays: z.strictObject({ requests: count, agreed: count, disagreed: count }),
  /** Requests about which nothing is known: not reported, of older versions, of programs that make their own prompts. */
  unknown: z.strictObject({ untold: count, notLookedAt: count, unknown: count }),
  skipped: count,
  erased: count.nullable(),
  damaged: count,
});
