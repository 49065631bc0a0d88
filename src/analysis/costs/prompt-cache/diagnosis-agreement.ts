import { listOf, parseJson } from "../../../base/json.ts";
import type { CacheLoss } from "../../../domain/events/inference-events.ts";
import type { CacheUnit } from "./cache-prompt.ts";
import type { CachedRequest } from "./cache-verdict.ts";
import { cacheWire } from "./cache-wire.ts";
import type { CacheDiagnosis } from "./told-diagnosis.ts";

/** A part of a request that vendors name: a kind of unit (`tool`, `system`, `block`), or a setting by its path. */
export type CacheRegion = string;

/**
 * Whether a diagnosis names something that does differ, or says that nothing does and nothing does. Null if it says nothing of that, or
 * if only something differs for which its vendor has no word. Vendors do not say in which order they compare, so of several differences
 * any one is right.
 *
 * @param differing - What differs from the earlier request, by turnlog's own comparison.
 */
export function agreesWith({ says, reason }: CacheDiagnosis, differing: ReadonlySet<CacheRegion>): boolean | null {
  if (says === "same") {
    const isNamed = [...regions.values()].some((each) => each.some((region) => differing.has(region)));
    return isNamed ? false : differing.size > 0 ? null : true;
  }
  const named = says === "changed" ? regions.get(reason ?? "") : undefined;
  return named === undefined ? null : named.some((region) => differing.has(region));
}

/** What OpenAI (openai 7.57.0) and Anthropic (its page on cache diagnostics) name, and what of a request that is. */
const regions: ReadonlyMap<string, readonly CacheRegion[]> = new Map([
  ["model_changed", ["model", "speed"]],
  ["tools_changed", ["tool"]],
  ["system_changed", ["system"]],
  ["messages_changed", ["block"]],
  ["input_changed", ["system", "block"]],
  ["context_compacted", ["system", "block"]],
  ["text_format_changed", ["text.format"]],
  ["verbosity_changed", ["text.verbosity"]],
  ["reasoning_effort_changed", ["reasoning.effort"]],
  ["prompt_cache_key_changed", ["prompt_cache_key"]],
  ["service_tier_changed", ["service_tier"]],
]);

/** What of a request differs from an earlier one of its family: what is only appended does not. */
export function differingRegions(family: string, then: CachedRequest, now: CachedRequest): ReadonlySet<CacheRegion> {
  const separating = cacheWire(family)?.separatedBy ?? [];
  const [before, since] = [then, now].map(({ partition }) => listOf(parseJson(partition)));
  const settings = new Map(settingsIn(then));
  return new Set([
    ...separating.filter((_, at) => JSON.stringify(before?.[at]) !== JSON.stringify(since?.[at])),
    ...settingsIn(now).flatMap(([name, digest]) => (settings.get(name) === digest ? [] : [name])),
    ...(["tool", "system"] as const).filter((kind) => textOf(then, kind) !== textOf(now, kind)),
    ...(textOf(now, "block").startsWith(textOf(then, "block")) ? [] : ["block"]),
  ]);
}

/**
 * The same by what planning recorded, without the prompts. A changed block may be part of the system prompt, which is made from blocks
 * too.
 */
export function plannedRegions(family: string, { settings, unit }: Pick<CacheLoss, "settings" | "unit">) {
  const wire = cacheWire(family);
  const read = [...(wire?.reach.keys() ?? []), ...(wire?.separatedBy ?? [])];
  const isWithin = (path: string, whole: string): boolean => path === whole || path.startsWith(`${whole}.`);
  const changed = read.filter((path) => settings.some((each) => isWithin(path, each) || isWithin(each, path)));
  return new Set<CacheRegion>([
    ...changed,
    ...(settings.some((path) => isWithin(path, "tools")) ? ["tool"] : []),
    ...(settings.some((path) => isWithin(path, "instructions")) ? ["system"] : []),
    ...(unit === null ? [] : ["system", "block"]),
  ]);
}

const settingsIn = ({ units }: CachedRequest): readonly (readonly [string, string])[] =>
  units.flatMap(({ kind, name, digest }) => (kind === "setting" && name !== null ? [[name, digest] as const] : []));

const textOf = ({ units }: CachedRequest, wanted: CacheUnit["kind"]): string =>
  units.flatMap(({ kind, digest }) => (kind === wanted ? [digest] : [])).join();
