import { objectOf, textOrEmpty } from "../../../base/json.ts";
import { boundariesOf } from "./cache-boundaries.ts";
import { type CacheUnit, partitionOf, prefixesOf, unitsOf, type WholeRequest } from "./cache-prompt.ts";
import { type CacheRules, cacheRules } from "./cache-rules.ts";
import type { CachedRequest } from "./cache-verdict.ts";
import { cacheWire } from "./cache-wire.ts";

/** A request as the log has it, whole: as its codec encodes it without an anchor. */
export type LoggedRequest = WholeRequest &
  Pick<CachedRequest, "id" | "at" | "answerAt" | "counts"> & {
    /** The family of its codec. */
    readonly family: string;
    /** The model that answered, if it is known; else the one that was asked. */
    readonly model: string;
    /** Its units and their prefixes, if they are known; the list in the body may then be empty. */
    readonly known?: { readonly units: readonly CacheUnit[]; readonly prefixes: readonly string[] };
  };

/** The request as the walk takes it; null if nothing is known of the prompts of its wire. */
export function cachedRequest(logged: LoggedRequest, own?: Partial<CacheRules>): CachedRequest | null {
  const { family, model, id, at, answerAt, counts, settings, body, known } = logged;
  const wire = cacheWire(family);
  if (wire === undefined) return null;
  const rules = cacheRules(family, { model, at: new Date(at).toISOString(), ...(own === undefined ? {} : { own }) });
  const units = known?.units ?? unitsOf(wire, logged);
  const asked = { ...settings, ...body };
  const { ttl, mode } = objectOf(asked["prompt_cache_options"]);
  const lifetime = textOrEmpty(ttl) || textOrEmpty(asked["prompt_cache_retention"]);
  const boundaries = boundariesOf(units, rules, {
    lifetime: lifetime || "default",
    isExplicit: mode === "explicit",
  });
  return {
    id,
    at,
    answerAt,
    counts,
    partition: partitionOf(wire, logged),
    units,
    prefixes: known?.prefixes ?? prefixesOf(units),
    boundaries,
    rules,
  };
}
