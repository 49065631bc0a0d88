import type { PriceFile } from "../../analysis/costs/prices/price-file.ts";
import { priceOfCell } from "../../analysis/costs/prices/price-of-cell.ts";
import { answerCounts } from "../../analysis/costs/rows/answer-counts.ts";
import { endpointOf } from "../../analysis/costs/rows/bill.ts";
import { nothingBilled } from "../../analysis/costs/rows/bill-cells.ts";
import { type CountedPart, partsOf } from "../../analysis/costs/rows/billed-parts.ts";
import type { Picodollars } from "../../base/dollars.ts";
import { type JsonObject, textOrEmpty } from "../../base/json.ts";
import type { ConversationEventOf } from "../../domain/events/event.ts";
import type { RecordedRun } from "../recorded-runs.ts";
import type { RequestDifference } from "./compare-run.ts";

/** The recorded answer of a request, and the request's settings. */
export type RecordedAnswer = {
  readonly data: ConversationEventOf<"ResponseReceived">["data"];
  readonly at: string;
  readonly scope: string;
  readonly encoder: string;
  readonly settings: JsonObject;
};

/** The answers of a run, by the revisions of their requests. */
export function answersOf(
  { events }: RecordedRun,
  settings: ReadonlyMap<string, JsonObject>,
): ReadonlyMap<number, RecordedAnswer> {
  const answers = new Map<number, RecordedAnswer>();
  const asked = new Map<
    string,
    Pick<RecordedAnswer, "scope" | "encoder" | "settings"> & { readonly revision: number }
  >();
  for (const { event, at, revision } of events) {
    if (event.type === "InferenceRequested") {
      const { inferenceId, scope, encoder, settingsDigest } = event.data;
      asked.set(inferenceId, { scope, encoder, settings: settings.get(settingsDigest) ?? {}, revision });
    }
    if (event.type !== "ResponseReceived") continue;
    const request = asked.get(event.data.inferenceId);
    if (request !== undefined) answers.set(request.revision, { ...request, data: event.data, at });
  }
  return answers;
}

/**
 * About how much more a request costs, by the price file: the answer's own counts, with its input in proportion to what the model
 * reads now, and with what the cache may still serve. Null if the answer or the file says too little.
 */
export function costChange(
  { now, effect }: RequestDifference,
  answer: RecordedAnswer | undefined,
  prices: PriceFile,
): Picodollars | null {
  const part = answer === undefined ? null : countedPart(answer);
  if (answer === undefined || part === null) return null;
  const before = priceOf(answer, part.tokens, { part, prices });
  if (before === null) return null;
  if (now === null) return -before;
  const { size, kept } = effect;
  if (size === null) return null;
  const { uncached, read, written } = part.tokens;
  const writes = Object.values(written).reduce((sum, tokens) => sum + tokens, 0);
  const input = Math.round((uncached + read + writes) * size);
  const served = Math.min(read, input, kept === null ? read : Math.round(input * kept));
  const isWriting = writes > uncached;
  const [lifetime = ""] = Object.keys(written);
  const rest = input - served;
  const tokens = isWriting
    ? { ...part.tokens, read: served, uncached: 0, written: { [lifetime]: rest } }
    : { ...part.tokens, read: served, uncached: rest, written: {} };
  const after = priceOf(answer, tokens, { part, prices });
  // Written tokens that stay written cost what they cost.
  const unchanged = isWriting
    ? before
    : priceOf(answer, { ...part.tokens, uncached: uncached + writes, written: {} }, { part, prices });
  return after === null || unchanged === null ? null : after - unchanged;
}

function countedPart({ data: { usage, rest, echoed }, encoder, settings }: RecordedAnswer): CountedPart | null {
  if (usage === undefined) return null;
  const repeated = Object.fromEntries(echoed.map((name) => [name, settings[name] ?? null]));
  const counts = answerCounts.countsOf({ usage, encoder, members: { ...rest, ...repeated } });
  return counts.input === undefined ? null : (partsOf({ ...counts, iterations: [] })?.[0] ?? null);
}

type Priced = { readonly part: CountedPart; readonly prices: PriceFile };

function priceOf(
  { at, scope, settings }: RecordedAnswer,
  tokens: CountedPart["tokens"],
  { part: { served, tier, size }, prices }: Priced,
): Picodollars | null {
  const declared = textOrEmpty(settings["model"]) || null;
  const key = {
    day: at.slice(0, 10),
    endpoint: endpointOf(scope),
    declared,
    served,
    tier,
    size,
    isPaid: false,
    run: null,
  };
  const price = priceOfCell({ ...key, ...nothingBilled, ...tokens }, prices);
  return price.unpriced.length > 0 ? null : price.amount;
}
