import { textOrEmpty } from "../../base/json.ts";
import type { Counts } from "../../domain/events/shared.ts";
import { notRead } from "../../domain/not-read.ts";
import type { Codec } from "../../engine/ports/codec.ts";
import { recordedPlan } from "../../engine/recorded/recorded-request.ts";
import type { EventLog } from "../../log/codec/event-log.ts";
import { readEvents } from "../../log/history/read-events.ts";
import { comparedInference } from "../../providers/caching/asked-diagnosis.ts";
import { shownText } from "../descriptions/shown-text.ts";
import type { FoundRequest, RequestPlace } from "../time-travel/find-request.ts";
import { adviceFor } from "./cache-advice.ts";
import {
  blocksChangedBy,
  bySettings,
  type CacheCulprit,
  imagesChangedBy,
  instructionsChangedBy,
} from "./cache-culprit.ts";
import { type CacheTrail, outcomeOf, type PromptOutcome } from "./cache-trail.ts";
import { changedNames, settingsOf } from "./known-settings.ts";
import { missAfterErasure } from "./miss-after-erasure.ts";
import { type OtherPrefix, otherPrefix } from "./other-prefix.ts";
import type { PriceFile } from "./prices/price-file.ts";
import { priceOfMiss } from "./prices/price-of-miss.ts";
import type { CacheRules } from "./prompt-cache/cache-rules.ts";
import type { CachedRequest, CacheVerdict } from "./prompt-cache/cache-verdict.ts";
import { walkCache } from "./prompt-cache/cache-walk.ts";
import { cachedRequest } from "./prompt-cache/cached-request.ts";
import type { RequestCache } from "./request-cache.ts";
import { endpointOf } from "./rows/bill.ts";
import { partsOf } from "./rows/billed-parts.ts";
import { lostClasses } from "./rows/lost-classes.ts";
import type { SentPrompt } from "./sent-prompt.ts";
import { placeOf, saidByServer } from "./server-says.ts";
import { wholePromptOf, wholePromptsOf } from "./whole-prompts.ts";

export type CacheReportOptions = {
  readonly prices: PriceFile | null;
  /** The caller's own rules of the cache. */
  readonly rules: Partial<CacheRules>;
  /** Called with the number of events read, while the rows of other conversations read events that they have not seen. */
  readonly onProgress?: (events: number) => void;
};

/**
 * How many earlier requests of an endpoint to compare with, and how much of their prompts: they are made again, and in a long conversation each has
 * megabytes.
 */
const [maxCompared, maxComparedBytes] = [100, 16_000_000];

/** Explains the cache of a request that was found with a trail. */
export async function explainCache(
  log: EventLog,
  found: FoundRequest,
  { trail, skipped, ...options }: CacheReportOptions & Pick<RequestPlace, "skipped"> & { readonly trail: CacheTrail },
): Promise<RequestCache> {
  const prompt = trail.prompts.get(found.request.inferenceId);
  if (prompt === undefined) throw new Error("the trail does not have the request");
  const { onProgress } = options;
  const outcome = await outcomeIn(log, prompt, skipped);
  const asked = { found, trail, prompt, outcome, other: null, ...options };
  const report = reportOn(asked);
  const own = report.foreseen === "first" ? whole(prompt, outcome, asked) : null;
  const bare = own === null ? null : whole(prompt, outcome, asked, { isBare: true });
  if (own === null || bare === null) return report;
  const other = await otherPrefix(log, prompt, { own, bare, progress: onProgress === undefined ? {} : { onProgress } });
  const joined = other === null ? report : reportOn({ ...asked, other });
  // Its estimate of a short prefix says nothing about the whole prompt.
  return joined.cause === "below-minimum" ? report : joined;
}

/** The outcome of a request, from the events after it; null if it has none so far. */
async function outcomeIn(
  log: EventLog,
  prompt: SentPrompt,
  skipped: RequestPlace["skipped"],
): Promise<PromptOutcome | null> {
  const { stream, revision } = prompt.recorded;
  for await (const { event, at } of readEvents(log, stream, { from: revision + 1, blobs: "keep", skipped })) {
    if (event.type === "skipped" || !("inferenceId" in event.data)) continue;
    if (event.data.inferenceId !== prompt.request.inferenceId) continue;
    const outcome = outcomeOf({ event, at }, prompt);
    if (outcome !== null) return outcome;
  }
  return null;
}

type Asked = CacheReportOptions & {
  readonly found: FoundRequest;
  readonly trail: CacheTrail;
  readonly prompt: SentPrompt;
  readonly outcome: PromptOutcome | null;
  /** Of another conversation, if nothing was asked at the endpoint before. */
  readonly other: OtherPrefix | null;
};

function reportOn(asked: Asked): RequestCache {
  const { found, prompt, outcome, prices, trail } = asked;
  const counts = outcome?.counts ?? null;
  const own = whole(prompt, outcome, asked);
  const verdict = own === null ? null : verdictOf(own, asked);
  const against = trail.prompts.get(verdict?.against ?? "");
  const culprit = verdict === null || against === undefined ? null : culpritOf(verdict, against, asked);
  const model = counts?.served ?? textOrEmpty(prompt.settings["model"]);
  const erased = verdict === null && own !== null ? missAfterErasure(prompt, { counts, model }, trail) : null;
  const lost = verdict?.lost ?? erased;
  const plain = { cause: "unknown", foreseen: "unknown", unit: null, idleMs: null } as const;
  const tokens = { shared: null, foreseenRead: null, expected: null, lost: null };
  const { divergence = null, edit = null } = culprit ?? {};
  const { cause, foreseen, unit, idleMs, shared, foreseenRead, expected } = verdict ?? { ...plain, ...tokens };
  const told = {
    ...{ cause, foreseen, unit, idleMs, shared, foreseenRead, expected, lost },
    against: against === undefined ? placeOfOther(verdict, asked) : placeOf(against),
    author: culprit?.author ?? (erased === null ? null : ({ kind: "erasure" } as const)),
    changedSettings: against === undefined ? [] : changedNames(against, asked),
    tools: toolsOf(against, prompt, found.codecs.get(prompt.request.encoder)),
  };
  return {
    ...told,
    divergence: divergence && { ...divergence, block: found.labels.get(divergence.blockId ?? "") ?? "block" },
    edit: edit && {
      before: edit.before && shownText(edit.before),
      after: edit.after && shownText(edit.after),
      changed: culprit?.changed ?? null,
    },
    rules: own && {
      minimumTokens: own.rules.minimumTokens,
      lifetimes: own.rules.lifetimes,
      source: own.rules.source,
    },
    tokens: tokensOf(counts),
    serverSays: serverSays(asked, own),
    price: lost === null || lost.tokens === 0 || prices === null ? null : priceOf(lost.tokens, asked, prices),
    avoid: adviceFor(told, found.codecs.get(prompt.request.encoder)?.family ?? ""),
  };
}

/** What the vendor says of the request; null if turnlog did not ask, or the answer does not say. */
function serverSays(asked: Asked, now: CachedRequest | null): RequestCache["serverSays"] {
  const { prompt, outcome, trail } = asked;
  const compared = comparedInference(prompt.request.decision.details);
  const diagnosis = outcome?.diagnosis ?? null;
  if (compared === null || diagnosis === null) return null;
  const earlier = trail.prompts.get(compared);
  const before = earlier && { prompt: earlier, request: whole(earlier, trail.outcomes.get(compared), asked) };
  const family = asked.found.codecs.get(prompt.request.encoder)?.family ?? "";
  return saidByServer(diagnosis, { family, now, before: before ?? null });
}

/** The request as the walk takes it, or its settings alone; null if its codec is not available, its settings were erased, or nothing is known of its prompts. */
function whole(
  prompt: SentPrompt,
  outcome: PromptOutcome | null | undefined,
  asked: Pick<Asked, "found" | "rules" | "trail" | "prompt">,
  { isBare = false } = {},
): CachedRequest | null {
  const { recorded, request } = prompt;
  const codec = asked.found.codecs.get(request.encoder);
  const settings = settingsOf(prompt, asked);
  if (codec === undefined || settings === null) return null;
  const counts = outcome?.counts ?? null;
  // Erased settings depend on the request that is explained.
  const isOwn = settings === prompt.settings && !isBare;
  const prompts = wholePromptsOf(asked.trail, asked.found.codecs);
  const { body, ...known } = isOwn
    ? prompts.of(prompt, codec)
    : wholePromptOf(prompt, codec, { settings, isBare, lengthOf: prompts.lengths.of });
  const logged = { id: request.inferenceId, at: Date.parse(recorded.at), answerAt: outcome?.answerAt ?? null, counts };
  const model = counts?.served ?? textOrEmpty(settings["model"]);
  return cachedRequest({ ...logged, family: codec.family, model, settings, body, known }, asked.rules);
}

/** The verdict against the requests of its endpoint; if there were none, against those of others that its wire serves. */
function verdictOf(own: CachedRequest, asked: Asked): CacheVerdict | null {
  const { prompt, trail } = asked;
  const { scope, encoder } = prompt.request;
  function* earlier(isComparable: (each: SentPrompt) => boolean): Generator<SentPrompt> {
    for (const each of trail.prompts.newestFirst())
      if (each !== prompt && isComparable(each) && !isRejected(trail, each)) yield each;
  }
  const here = (): Generator<SentPrompt> => earlier(({ request }) => request.scope === scope);
  const verdict = walked(here(), own, asked);
  if (verdict?.cause !== "first" && verdict?.foreseen !== "first") return verdict;
  // The settings of an earlier request were erased, so it cannot be compared with.
  if (here().next().done !== true) return null;
  const elsewhere = walked(
    earlier(({ request }) => request.encoder === encoder),
    own,
    asked,
  );
  // Nor can this one tell what it shares with requests elsewhere whose settings were erased.
  if (elsewhere === null) return null;
  return (elsewhere.shared?.tokens ?? 0) > 0 ? elsewhere : verdict;
}

const isRejected = ({ outcomes }: CacheTrail, { request }: SentPrompt): boolean =>
  outcomes.get(request.inferenceId)?.isRejected === true;

/** @param earlier - Newest first. */
function walked(earlier: Iterable<SentPrompt>, own: CachedRequest, asked: Asked): CacheVerdict | null {
  const { outcomes } = asked.trail;
  const prompts: CachedRequest[] = [];
  /** How many are newer than the newest one that is not known: that one may share more than those before it. */
  let known = Number.POSITIVE_INFINITY;
  let [compared, bytes] = [0, 0];
  for (const each of earlier) {
    if (compared === maxCompared) break;
    compared += 1;
    const request = whole(each, outcomes.get(each.request.inferenceId), asked);
    if (request === null) {
      if (settingsOf(each, asked) === null) known = Math.min(known, prompts.length);
      continue;
    }
    prompts.push(within(request, each.request.scope));
    bytes += request.units.reduce((sum, unit) => sum + unit.bytes, 0);
    if (bytes > maxComparedBytes) break;
  }
  const { other, prompt } = asked;
  const others = other === null ? [] : [within(other.prefix, prompt.request.scope)];
  const verdict = walkCache([...others, ...prompts.toReversed(), within(own, prompt.request.scope)]).at(-1) ?? null;
  if (verdict === null || verdict.foreseen === "read") return verdict;
  const isKnown = prompts.slice(0, known).some(({ id }) => id === verdict.against);
  return known === Number.POSITIVE_INFINITY || isKnown ? verdict : null;
}

/** Endpoints do not see each other's entries. */
const within = (request: CachedRequest, scope: string): CachedRequest => ({
  ...request,
  partition: JSON.stringify([scope, request.partition]),
});

/** Who caused a verdict that something of the request did; null if only time or the server did. */
function culpritOf(
  { cause, foreseen, unit }: CacheVerdict,
  then: SentPrompt,
  { found, prompt: now }: Asked,
): CacheCulprit | null {
  // Others may have cached more of the prompt, or the answer says nothing: what changed has changed all the same.
  const lead = cause === "untold" || cause === "more-than-known" ? foreseen : cause;
  const isOfImages = lead === "setting-changed" && unit?.name === "images";
  const ofSettings = ["setting-changed", "tools-changed", "other-partition", "no-breakpoint"];
  if (ofSettings.includes(lead) && !isOfImages) return bySettings;
  if (lead !== "changed" && !isOfImages) return null;
  const { view, recorded } = found;
  const { provenance } = recordedPlan(view, recorded);
  const compared = { then, now, provenance, blame: view.client.blame ?? notRead() };
  if (isOfImages) return imagesChangedBy(compared);
  return unit?.kind === "system" ? instructionsChangedBy(compared) : blocksChangedBy(compared);
}

const placeOfOther = (verdict: CacheVerdict | null, { other }: Asked): RequestCache["against"] =>
  other !== null && verdict?.against === other.place.inferenceId ? other.place : null;

function toolsOf(
  then: SentPrompt | undefined,
  { settings }: SentPrompt,
  codec: Codec | undefined,
): RequestCache["tools"] {
  if (then === undefined || codec === undefined) return { added: [], removed: [] };
  const [before, now] = [new Set(codec.offeredTools(then.settings)), new Set(codec.offeredTools(settings))];
  return { added: [...now].filter((name) => !before.has(name)), removed: [...before].filter((name) => !now.has(name)) };
}

function tokensOf(counts: Counts | null): RequestCache["tokens"] {
  const [part] = counts?.input === undefined ? [] : (partsOf({ ...counts, iterations: [] }) ?? []);
  if (counts?.input === undefined || part === undefined) return null;
  const { uncached, written } = part.tokens;
  return { input: counts.input, uncached, read: counts.cacheRead ?? null, written };
}

function priceOf(lost: number, { prompt, outcome }: Asked, prices: PriceFile): RequestCache["price"] {
  const counts = outcome?.counts ?? null;
  const [part] = counts === null ? [] : (partsOf({ ...counts, iterations: [] }) ?? []);
  if (part === undefined) return null;
  const { request, recorded, settings } = prompt;
  const { served, tier, size, tokens } = part;
  const declared = textOrEmpty(settings["model"]) || null;
  const key = { day: recorded.at.slice(0, 10), endpoint: endpointOf(request.scope), declared, served, tier, size };
  const price = priceOfMiss({ ...key, isPaid: false, run: null }, lostClasses(lost, tokens), prices);
  return { ...price, file: prices.file, sha256: prices.sha256, format: prices.format };
}
