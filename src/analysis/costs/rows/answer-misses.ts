import { isUnknownLoss } from "../../../engine/recorded/cache-loss.ts";
import { cacheAuthorOf } from "../../../projections/views/cache-author.ts";
import { comparedInference } from "../../../providers/caching/asked-diagnosis.ts";
import { codecs } from "../../../providers/codecs.ts";
import { type CacheRules, cacheRules } from "../prompt-cache/cache-rules.ts";
import { type CacheWire, cacheWire } from "../prompt-cache/cache-wire.ts";
import { agreesWith, plannedRegions } from "../prompt-cache/diagnosis-agreement.ts";
import { diagnosisIn } from "../prompt-cache/told-diagnosis.ts";
import type { AnsweredRequest, Miss, MissReader } from "./misses.ts";
import { settingsPrefix } from "./settings-prefix.ts";

/**
 * Judges requests by what was recorded when they were planned, and by what their answers reported: without their prompts, which `why`
 * makes again. It knows the released codecs only, so that rows are the same in every process.
 */
export const answerMisses: MissReader = { missOf, prefixOf: settingsPrefix, msOf: Date.parse };

function missOf(request: AnsweredRequest): Miss {
  const family = codecs.get(request.encoder)?.family ?? "";
  const { details, loss } = request.decision;
  const diagnosis = comparedInference(details) === null ? null : diagnosisIn(family, request.answer);
  const miss = missIn(request, family);
  if (diagnosis === null) return miss;
  const isSame = loss?.against === comparedInference(details);
  return {
    ...miss,
    agrees: loss && isSame && !isUnknownLoss(loss) ? agreesWith(diagnosis, plannedRegions(family, loss)) : null,
  };
}

function missIn(request: AnsweredRequest, family: string): Miss {
  const { model, at, decision, counts } = request;
  const wire = cacheWire(family);
  if (wire === undefined) return without("unknown");
  if (decision.loss === undefined) return without("not-looked-at");
  if (counts.cacheRead === undefined || counts.input === undefined) return without("untold");
  if (decision.loss === null) return without(counts.cacheRead > 0 ? "read" : "first");
  const rules = cacheRules(family, { model, at });
  const told = { ...request, loss: decision.loss, input: counts.input, read: counts.cacheRead };
  return judged(told, { wire, rules });
}

const without = (cause: string): Miss => ({ cause, author: null, lost: 0, removed: 0 });

type Told = AnsweredRequest & {
  readonly loss: NonNullable<AnsweredRequest["decision"]["loss"]>;
  readonly input: number;
  readonly read: number;
};

type Facts = { readonly wire: CacheWire; readonly rules: CacheRules };

function judged(told: Told, { wire, rules }: Facts): Miss {
  const { input, read } = told;
  const expected = expectedOf(told);
  const lost = Math.max(0, Math.min(expected, input) - read);
  if (rules.minimumTokens !== null && expected < rules.minimumTokens) return without("below-minimum");
  // Less than a step is no miss: servers round what they report.
  if (lost < Math.max(rules.stepTokens ?? unknownStep, 1)) return without("read");
  const changed = changeOf(told, wire);
  if (changed !== null) return { ...changed, lost, removed: Math.max(0, expected - read - lost) };
  if (isUnknownLoss(told.loss)) return { ...afterErasure(byTime(told, rules)), lost };
  return { ...without(byTime(told, rules) ?? unmarked(told, rules) ?? "unexplained"), lost };
}

/** The largest step that a vendor names. */
const unknownStep = 128;

/** What the earlier request had cached: all of its input. If it is not known any more, as much as is sent again. */
function expectedOf({ against, loss, input, read, bytes }: Told): number {
  if (against !== null && against.input !== null) return against.input;
  return read + Math.round((input * loss.lostBytes) / Math.max(1, bytes));
}

/** A change of the prompt, the earliest part first; null if there is none. */
function changeOf({ loss }: Told, { reach, separatedBy }: CacheWire): Pick<Miss, "cause" | "author"> | null {
  const { settings, unit, actor, erased } = loss;
  const isAny = (paths: Iterable<string>): boolean =>
    settings.some((path) => [...paths].some((each) => isWithin(path, each) || isWithin(each, path)));
  if (isAny(separatedBy)) return { cause: "other-partition", author: "settings" };
  if (isAny([...reach].flatMap(([path, part]) => (part === "block" ? [] : [path]))))
    return { cause: "setting-changed", author: "settings" };
  if (isAny(["tools"])) return { cause: "tools-changed", author: "settings" };
  if (isAny(["instructions"])) return { cause: "changed", author: "settings" };
  if (isAny(reach.keys())) return { cause: "setting-changed", author: "settings" };
  if (unit === null) return null;
  const author = cacheAuthorOf({ actor, change: erased === true ? "erased" : "edited" });
  return {
    cause: "changed",
    author: author?.kind === "layer" ? `${author.name}@${author.version}` : (author?.kind ?? null),
  };
}

const isWithin = (path: string, whole: string): boolean => path === whole || path.startsWith(`${whole}.`);

/** Settings of the earlier request were erased. Only an entry that was not there, whatever they said, explains the miss. */
const afterErasure = (time: string | null): Omit<Miss, "lost"> =>
  time === "expired" || time === "not-yet-readable" ? without(time) : { ...without("unknown"), author: "erasure" };

/** Whether the entry was not there yet, or not any more. */
function byTime({ at, against }: Told, { lifetimes }: CacheRules): string | null {
  if (against === null) return null;
  const [now, then] = [Date.parse(at), Date.parse(against.at)];
  const answerAt = against.firstMs === null ? Date.parse(against.answeredAt) : then + against.firstMs;
  if (answerAt > now) return "not-yet-readable";
  const { leastMs = null, mostMs = null } = lifetimes[against.lifetime ?? "default"] ?? lifetimes["default"] ?? {};
  const idleMs = now - then;
  if (mostMs !== null && idleMs > mostMs) return "expired";
  return leastMs !== null && idleMs > leastMs ? "maybe-expired" : null;
}

/** A server that caches at breakpoints caches nothing without one. */
const unmarked = ({ decision: { details } }: Told, { boundaries }: CacheRules): string | null =>
  boundaries === "breakpoints" && details?.["cache"] === undefined ? "no-breakpoint" : null;
