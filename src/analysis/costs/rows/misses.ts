import type { JsonObject } from "../../../base/json.ts";
import type { CacheLoss, InferenceRequestedData } from "../../../domain/events/inference-events.ts";
import type { Counts } from "../../../domain/events/shared.ts";
import { type BillKey, type BillSums, nothingBilled } from "./bill-cells.ts";
import type { OutlinedSettings } from "./billed-settings.ts";
import { lostClasses } from "./lost-classes.ts";
import { type PrefixUses, withUse } from "./prefix-uses.ts";

/** An earlier answered request of a conversation, as far as later misses depend on it. Times are ISO texts. */
export type EarlierAnswer = {
  readonly inferenceId: string;
  readonly at: string;
  readonly answeredAt: string;
  /** How long after the request the answer began; null if that was not measured. */
  readonly firstMs: number | null;
  /** All input, cached included; null if it was not reported. */
  readonly input: number | null;
  /** The lifetime of the entries that it wrote, or read again: `5m`, `1h`. Absent if the provider named none, or several. */
  readonly lifetime?: string;
};

/** What is known of a request when its answer has come. */
export type AnsweredRequest = {
  readonly encoder: string;
  readonly model: string;
  /** When it began, as ISO text. */
  readonly at: string;
  readonly bytes: number;
  readonly counts: Counts;
  readonly decision: MissDecision;
  /** The other members of its answer. */
  readonly answer: JsonObject;
  /** The request that it was compared with when it was planned; null if it is not among the newest. */
  readonly against: EarlierAnswer | null;
};

/** The part of a decision that says what a request gave up. */
export type MissDecision = {
  /** Undefined if an older version planned it, and nothing has looked at it since. */
  readonly loss: CacheLoss | null | undefined;
  readonly details: JsonObject | undefined;
};

/** Why a request read what it read from the prompt cache, and what it paid for again. */
export type Miss = {
  readonly cause: string;
  /** Who changed the prompt, if that is why: `redact@1.2.0` for a layer, else `caller`, `compaction`, `erasure`, `settings` or `engine`. */
  readonly author: string | null;
  /** Input tokens that an earlier request had cached, and this one paid for again. */
  readonly lost: number;
  /** About how many tokens of the earlier prompt the author's change removed. */
  readonly removed: number;
  /** If nothing was asked at its endpoint before, and other conversations may have used its prefix. */
  readonly first?: FirstRequest;
  /** Whether what the provider said of the prompt agrees with the decision; null if that cannot be told. Absent if it said nothing. */
  readonly agrees?: boolean | null;
};

/** Judges requests by the rules of their provider's cache; only codecs know them. */
export type MissReader = {
  readonly missOf: (request: AnsweredRequest) => Miss;
  readonly prefixOf: PrefixReader;
  /** An ISO time in milliseconds. */
  readonly msOf: (at: string) => number;
};

/** The key of what a server reads before the messages, which other conversations may share, and its UTF-8 bytes; null if there is none. */
export type PrefixReader = (asked: {
  readonly encoder: string;
  readonly scope: string;
  readonly model: string;
  readonly at: string;
  readonly settings: OutlinedSettings;
  readonly details: JsonObject | undefined;
}) => SettingsPrefix | null;

type SettingsPrefix = { readonly key: string; readonly bytes: number };

/** What a row about the cache keeps of a request until its answer comes. */
export type PlannedRequest = MissDecision & {
  readonly at: string;
  readonly revision: number;
  readonly prefix: SettingsPrefix | null;
  /** A layer's own question. */
  readonly isAside: boolean;
};

/** The first request of an endpoint: what it shares with other conversations decides what it could read. */
export type FirstRequest = SettingsPrefix & { readonly at: string; readonly encoder: string };

/** How many earlier answers a row keeps: requests are compared with one of the newest. */
const maxEarlier = 6;

/** The earlier answers with a new one. */
const withAnswer = (earlier: readonly EarlierAnswer[], answer: EarlierAnswer): readonly EarlierAnswer[] => [
  ...earlier.slice(1 - maxEarlier),
  answer,
];

/** The lifetime that an answer names; one that wrote nothing goes on with the entries of the answer before it. */
function lifetimeIn({ cacheWritten = {} }: Counts, before: EarlierAnswer | undefined): Pick<EarlierAnswer, "lifetime"> {
  const written = Object.entries(cacheWritten).flatMap(([name, tokens]) => (tokens > 0 ? [name] : []));
  const [named = before?.lifetime, other] = written;
  return named === undefined || named === "any" || other !== undefined ? {} : { lifetime: named };
}

/** The decision of a request; one of an older version may have been looked at since. */
export function plannedAs(
  { inferenceId, decision }: Pick<InferenceRequestedData, "inferenceId" | "decision">,
  looked: ReadonlyMap<string, CacheLoss | null> = new Map(),
): MissDecision {
  const { cache, details } = decision;
  return { loss: cache === undefined ? looked.get(inferenceId) : cache, details };
}

/** The cells of a request: what it paid for again is in one of its own, with its cause and author. */
export function missed(
  key: BillKey,
  paidFor: BillSums,
  { cause, author, lost, removed, agrees, first }: Miss,
): readonly { readonly key: BillKey; readonly sums: BillSums }[] {
  const sums = { ...paidFor, ...saidOf(agrees) };
  if (lost === 0) return [{ key: { ...key, cause, ...(first && { first: JSON.stringify(first) }) }, sums }];
  const paid = lostClasses(lost, paidFor);
  const { requests, bytes } = sums;
  const written = Object.entries(paidFor.written).map(
    ([lifetime, tokens]) => [lifetime, tokens - (paid.written[lifetime] ?? 0)] as const,
  );
  const rest = {
    ...{ ...paidFor, requests: 0, bytes: 0, uncached: sums.uncached - paid.uncached },
    written: Object.fromEntries(written.filter(([, tokens]) => tokens > 0)),
    unknownCache: Math.min(sums.unknownCache, sums.uncached - paid.uncached),
  };
  const own = { ...nothingBilled, requests, bytes, ...paid, ...saidOf(agrees), ...(removed === 0 ? {} : { removed }) };
  return [
    { key: { ...key, cause, ...(author === null ? {} : { author }) }, sums: own },
    { key: { ...key, cause: "read" }, sums: rest },
  ];
}

function saidOf(agrees: Miss["agrees"]): Pick<BillSums, "said" | "agreed" | "disagreed"> {
  if (agrees === undefined) return {};
  return { said: 1, ...(agrees === null ? {} : agrees ? { agreed: 1 } : { disagreed: 1 }) };
}

/** How a request is judged; only then is it among the earlier ones. */
export function judge(
  view: { earlier?: readonly EarlierAnswer[]; uses?: PrefixUses },
  asked: JudgedRequest,
  { counts, answer, answeredAt, firstMs }: JudgedAnswer,
  misses: MissReader,
): Miss {
  const { inferenceId, encoder, bytes, declared, planned } = asked;
  const { earlier = [] } = view;
  const model = counts.served ?? declared ?? "";
  const { at = answeredAt, loss, details, prefix = null } = planned ?? {};
  const against = earlier.find((each) => each.inferenceId === loss?.against) ?? null;
  const lifetime = lifetimeIn(counts, earlier.at(-1));
  view.earlier = withAnswer(earlier, {
    inferenceId,
    at,
    answeredAt,
    firstMs,
    input: counts.input ?? null,
    ...lifetime,
  });
  if (prefix !== null && planned !== undefined) {
    const atMs = misses.msOf(at);
    const readableFrom = firstMs === null ? misses.msOf(answeredAt) : atMs + firstMs;
    view.uses = withUse(view.uses ?? {}, prefix.key, { at: atMs, readableFrom, revision: planned.revision });
  }
  const miss = misses.missOf({ encoder, model, at, bytes, counts, answer, decision: { loss, details }, against });
  const isFirst = loss === null && planned?.isAside === false && (miss.cause === "first" || miss.cause === "read");
  return prefix === null || !isFirst ? miss : { ...miss, first: { ...prefix, at, encoder } };
}

type JudgedAnswer = Pick<EarlierAnswer, "answeredAt" | "firstMs"> & Pick<AnsweredRequest, "counts" | "answer">;

type JudgedRequest = {
  readonly inferenceId: string;
  readonly encoder: string;
  readonly bytes: number;
  readonly declared: string | null;
  readonly planned?: PlannedRequest;
};
