import { definedMembers } from "../../base/json.ts";
import { checkChoice, checkWhole, choiceOf, kindOf, optionsOf, textOf, type ValueCheck } from "../../base/options.ts";
import type { ConversationEventOf } from "../../domain/events/event.ts";

/** One way to shorten a Turn. */
export type CompactionStep = (typeof compactionSteps)[number];

const compactionSteps = ["truncate-results", "drop-exchanges", "summarise"] as const;

/** When and how the engine shortens a Turn; it records every change as its own edit. */
export type CompactPolicy = {
  /** Shortens before a request, once the endpoint has counted this many tokens of the Turn. */
  readonly beforeRequest?: number;
  /** Shortens after an answer without calls, once the endpoint has counted this many tokens, so that the next run begins short. */
  readonly afterRun?: number;
  /**
   * The steps to try, in order; each time the first one that finds something to shorten is applied. `truncate-results` cuts tool
   * results that the endpoint has read, `drop-exchanges` drops the oldest exchanges, `summarise` asks the model for a summary of
   * them. By default results are cut, then exchanges dropped.
   */
  readonly how?: readonly CompactionStep[];
  /** How many of the newest exchanges stay unchanged, or of the newest steps if there is only one exchange; 2 by default. */
  readonly keep?: number;
  /** The length in characters to which a result is cut; 2,000 by default. */
  readonly maxResultLength?: number;
  /** Changes to the provider's settings for the request of a summary. */
  readonly summary?: { readonly model?: string; readonly instructions?: string; readonly maxOutputTokens?: number };
  /**
   * What to do if the provider rejects a request as too long: `shrink` (the default) cuts its tool results and sends it once more;
   * `fail` passes the error to the layers.
   */
  readonly onTooLong?: "shrink" | "fail";
};

/** The maximum length of the note that replaces the cut part of a result. */
export const noteLength = 80;

/** Leaves room for that note and a word on each side of it. */
const minResultLength = 2 * noteLength;

/** A policy as the log has it. */
export type RecordedCompactPolicy = NonNullable<ConversationEventOf<"RunStarted">["data"]["compact"]>;

/** The default policy: the engine shortens nothing before an endpoint rejects a request. */
export const defaultCompactPolicy: RecordedCompactPolicy = {
  how: ["truncate-results", "drop-exchanges"],
  keep: 2,
  maxResultLength: 2_000,
  onTooLong: "shrink",
};

const resultLength: ValueCheck<number> = (what, given) => {
  const length = checkWhole(what, given);
  if (length >= minResultLength) return length;
  throw new RangeError(`${what} is ${length}: give at least ${minResultLength}`);
};

const steps: ValueCheck<readonly CompactionStep[]> = (what, given) => {
  if (!Array.isArray(given) || given.length === 0)
    throw new TypeError(`${what} is ${kindOf(given)}: write ["truncate-results", "summarise"]`);
  return given.map((step, index) => checkChoice(`${what}[${index}]`, step, compactionSteps));
};

const summaryRequest = optionsOf<NonNullable<CompactPolicy["summary"]>>({
  ...{ model: textOf("its name"), instructions: textOf("the text for the model"), maxOutputTokens: checkWhole },
});

const policyOptions = optionsOf<CompactPolicy>({
  ...{ beforeRequest: checkWhole, afterRun: checkWhole, how: steps, keep: checkWhole, maxResultLength: resultLength },
  summary(what, given) {
    summaryRequest.check(what, given, `${what}.`);
    // The check above has verified the type.
    return given as NonNullable<CompactPolicy["summary"]>;
  },
  onTooLong: choiceOf("shrink", "fail"),
});

/**
 * The policy with its defaults.
 *
 * @throws {TypeError | RangeError} if an option is unknown or invalid.
 */
export function recordedCompactPolicy(given: CompactPolicy | undefined): RecordedCompactPolicy {
  if (given === undefined) return defaultCompactPolicy;
  policyOptions.check("createEngine's compact", given, "createEngine: compact.");
  const policy = { ...defaultCompactPolicy, ...definedMembers(given) };
  const { how, summary } = policy;
  return { ...policy, how: [...how], ...(summary === undefined ? {} : { summary: { ...summary } }) };
}

/** How to shorten a Turn between two runs; absent options have the defaults of an engine's policy. */
export type CompactOptions = Pick<CompactPolicy, "keep" | "maxResultLength"> & {
  readonly how?: Exclude<CompactionStep, "summarise">;
};

const compactOptions = optionsOf<CompactOptions>({
  how(what, given) {
    if (given === "summarise")
      throw new TypeError(`${what} is 'summarise', which needs a model: write compact(engine, { keep })`);
    return checkChoice(what, given, ["truncate-results", "drop-exchanges"]);
  },
  ...{ keep: checkWhole, maxResultLength: resultLength },
});

/**
 * The options with their defaults.
 *
 * @throws {TypeError | RangeError} if an option is unknown or invalid.
 */
export function checkedCompaction(options: CompactOptions): Required<CompactOptions> {
  compactOptions.check("compact", options);
  const { how = "truncate-results" } = options;
  const { keep, maxResultLength } = { ...defaultCompactPolicy, ...options };
  return { how, keep, maxResultLength };
}

/** How to request a summary between two runs; absent options are those of the engine's policy. */
export type SummaryOptions = Pick<CompactPolicy, "keep" | "summary">;

/**
 * The policy of a run that only summarises: nothing else shortens its Turn.
 *
 * @throws {TypeError | RangeError} if an option is unknown or invalid.
 */
export function summaryPolicy(policy: RecordedCompactPolicy, options: SummaryOptions): RecordedCompactPolicy {
  const { keep = policy.keep, summary = policy.summary } = options;
  checkWhole("compact: keep", keep);
  if (summary !== undefined) policyOptions.table.summary("compact.summary", summary);
  const { maxResultLength, onTooLong } = policy;
  const asked = summary === undefined ? {} : { summary: { ...summary } };
  return { how: ["summarise"], keep, maxResultLength, onTooLong, only: true, ...asked };
}
