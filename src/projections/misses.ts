import type { JsonObject } from "../base/json.ts";
import type { CacheLoss, InferenceRequestedData } from "../domain/events/inference-events.ts";
import type { Counts } from "../domain/events/shared.ts";
import { type BillKey, type BillSums, nothingBilled } from "./bill-cells.ts";
import { lostClasses } from "./lost-classes.ts";

/** An earlier answered request of a conversation, as far as later misses depend on it. Times are ISO texts. */
export type EarlierAnswer = {
  readonly inferenceId: string;
  readonly at: string;
  readonly answeredAt: string;
  /** How long after the request the answer began; null if that was not measured. */
  readonly firstMs: number | null;
  /** All input, cached included; null if it was not reported. */
  readonly input: number | null;
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
  /** Who changed the prompt, if that is why: `redact@1.2.0` for a layer, else `caller`, `compaction`, `settings` or `engine`. */
  readonly author: string | null;
  /** Input tokens that an earlier request had cached, and this one paid for again. */
  readonly lost: number;
  /** About how many tokens of the earlier prompt the author's change removed. */
  readonly removed: number;
  /** Whether what the provider said of the prompt agrees with the decision; null if that cannot be told. Absent if it said nothing. */
  readonly agrees?: boolean | null;
};

/** Judges a request by the rules of its provider's cache; only codecs know them. */
export type MissReader = (request: AnsweredRequest) => Miss;

/** How many earlier answers a row keeps: requests are compared with one of the newest. */
const maxEarlier = 6;

/** The earlier answers with a new one. */
const withAnswer = (earlier: readonly EarlierAnswer[], answer: EarlierAnswer): readonly EarlierAnswer[] => [
  ...earlier.slice(1 - maxEarlier),
  answer,
];

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
  { cause, author, lost, removed, agrees }: Miss,
): readonly { readonly key: BillKey; readonly sums: BillSums }[] {
  const sums = { ...paidFor, ...saidOf(agrees) };
  if (lost === 0) return [{ key: { ...key, cause }, sums }];
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
  view: { earlier?: readonly EarlierAnswer[] },
  asked: JudgedRequest,
  { counts, answer, answeredAt, firstMs }: JudgedAnswer,
  misses: MissReader,
): Miss {
  const { inferenceId, encoder, bytes, declared, planned } = asked;
  const { earlier = [] } = view;
  const model = counts.served ?? declared ?? "";
  const { at = answeredAt, ...decision } = planned ?? { loss: undefined, details: undefined };
  const against = earlier.find((each) => each.inferenceId === decision.loss?.against) ?? null;
  view.earlier = withAnswer(earlier, { inferenceId, at, answeredAt, firstMs, input: counts.input ?? null });
  return misses({ encoder, model, at, bytes, counts, answer, decision, against });
}

type JudgedAnswer = Pick<EarlierAnswer, "answeredAt" | "firstMs"> & Pick<AnsweredRequest, "counts" | "answer">;

type JudgedRequest = {
  readonly inferenceId: string;
  readonly encoder: string;
  readonly bytes: number;
  readonly declared: string | null;
  readonly planned?: MissDecision & { readonly at: string };
};
