import { definedMembers } from "../../base/json.ts";
import { checkChoice, checkWhole, choiceOf, kindOf, optionsOf, textOf, type ValueCheck } from "../../base/options.ts";
import type { ConversationEventOf } from "../../domain/events/event.ts";

/** One way to make a Turn shorter. */
export type CompactionStep = (typeof compactionSteps)[number];

const compactionSteps = ["truncate-results", "drop-exchanges", "summarise"] as const;

/** When and how the engine makes a Turn shorter; every change is an edit of the engine's, on record. */
export type CompactPolicy = {
  /** Before a request, once its endpoint has counted so many tokens of the Turn. */
  readonly beforeRequest?: number;
  /** After an answer that calls nothing, once the endpoint has counted so many: so that the next run begins short. */
  readonly afterRun?: number;
  /**
   * What is done, the first that finds something to do; each time anew. `truncate-results` cuts tool results that the endpoint
   * has read, `drop-exchanges` leaves out the oldest exchanges, `summarise` asks the model to say them in short. By default
   * results are cut, then exchanges left out.
   */
  readonly how?: readonly CompactionStep[];
  /** How many of the newest exchanges stay as they are, or of the newest steps where there is one exchange; 2 when absent. */
  readonly keep?: number;
  /** To how many characters a result is cut; 2,000 when absent. */
  readonly maxResultLength?: number;
  /** How a summary is asked for, where the provider is not to be asked as it is set to. */
  readonly summary?: { readonly model?: string; readonly instructions?: string; readonly maxOutputTokens?: number };
  /**
   * What becomes of a request that is refused because it is too long: its results are cut and it is sent once more
   * (`shrink`, the default), or the layers get the refusal (`fail`).
   */
  readonly onTooLong?: "shrink" | "fail";
};

/** The most characters that it takes to say what was left out of a result. */
export const noteLength = 80;

/** No shorter a limit leaves room for that, and for a word on each side of it. */
const minResultLength = 2 * noteLength;

/** A policy as the log has it. */
export type RecordedCompactPolicy = NonNullable<ConversationEventOf<"RunStarted">["data"]["compact"]>;

/** The policy when the caller says nothing: nothing is made shorter before an endpoint refuses it. */
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
  ...{ model: textOf("its name"), instructions: textOf("what the model is told"), maxOutputTokens: checkWhole },
});

const policyOptions = optionsOf<CompactPolicy>({
  ...{ beforeRequest: checkWhole, afterRun: checkWhole, how: steps, keep: checkWhole, maxResultLength: resultLength },
  summary(what, given) {
    summaryRequest.check(what, given, `${what}.`);
    // As it was checked.
    return given as NonNullable<CompactPolicy["summary"]>;
  },
  onTooLong: choiceOf("shrink", "fail"),
});

/**
 * A policy as it was given, complete.
 *
 * @throws {TypeError | RangeError} for an option that is none, and a value that it cannot have.
 */
export function recordedCompactPolicy(given: CompactPolicy | undefined): RecordedCompactPolicy {
  if (given === undefined) return defaultCompactPolicy;
  policyOptions.check("createEngine's compact", given, "createEngine: compact.");
  const policy = { ...defaultCompactPolicy, ...definedMembers(given) };
  const { how, summary } = policy;
  return { ...policy, how: [...how], ...(summary === undefined ? {} : { summary: { ...summary } }) };
}

/** How a Turn is made shorter between two runs; what is not said is as with an engine's policy. */
export type CompactOptions = Pick<CompactPolicy, "keep" | "maxResultLength"> & {
  readonly how?: Exclude<CompactionStep, "summarise">;
};

const compactOptions = optionsOf<CompactOptions>({
  how(what, given) {
    if (given === "summarise")
      throw new TypeError(`${what} is 'summarise', and a summary needs a model: write compact(engine, { keep })`);
    return checkChoice(what, given, ["truncate-results", "drop-exchanges"]);
  },
  ...{ keep: checkWhole, maxResultLength: resultLength },
});

/**
 * The options as they were given, complete.
 *
 * @throws {TypeError | RangeError} for an option that is none, and a value that it cannot have.
 */
export function checkedCompaction(options: CompactOptions): Required<CompactOptions> {
  compactOptions.check("compact", options);
  const { how = "truncate-results" } = options;
  const { keep, maxResultLength } = { ...defaultCompactPolicy, ...options };
  return { how, keep, maxResultLength };
}

/** How a summary between two runs is asked for; what is not said is as with the engine's policy. */
export type SummaryOptions = Pick<CompactPolicy, "keep" | "summary">;

/**
 * The policy of a run that only summarises: nothing else makes its Turn shorter.
 *
 * @throws {TypeError | RangeError} for an option that is none, and a value that it cannot have.
 */
export function summaryPolicy(policy: RecordedCompactPolicy, options: SummaryOptions): RecordedCompactPolicy {
  const { keep = policy.keep, summary = policy.summary } = options;
  checkWhole("compact: keep", keep);
  if (summary !== undefined) policyOptions.table.summary("compact.summary", summary);
  const { maxResultLength, onTooLong } = policy;
  const asked = summary === undefined ? {} : { summary: { ...summary } };
  return { how: ["summarise"], keep, maxResultLength, onTooLong, only: true, ...asked };
}
