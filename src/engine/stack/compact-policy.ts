import { checkChoice, checkOptions, checkText, checkWhole, kindOf, type OptionNames } from "../../base/options.ts";
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

const policyNames: OptionNames<CompactPolicy> = {
  ...{
    beforeRequest: true,
    afterRun: true,
    how: true,
    keep: true,
    maxResultLength: true,
    summary: true,
    onTooLong: true,
  },
};

/**
 * A policy as it was given, complete.
 *
 * @throws {TypeError | RangeError} for an option that is none, and a value that it cannot have.
 */
export function recordedCompactPolicy(given: CompactPolicy | undefined): RecordedCompactPolicy {
  if (given === undefined) return defaultCompactPolicy;
  checkOptions("createEngine's compact", given, policyNames);
  const policy = { ...defaultCompactPolicy, ...given };
  const { beforeRequest, afterRun, how, keep, maxResultLength, summary = {}, onTooLong } = policy;
  for (const [name, value] of Object.entries({ beforeRequest, afterRun, keep, maxResultLength }))
    if (value !== undefined) checkWhole(`createEngine: compact.${name}`, value);
  if (maxResultLength < minResultLength)
    throw new RangeError(
      `createEngine: compact.maxResultLength is ${maxResultLength}: give at least ${minResultLength}`,
    );
  checkChoice("createEngine: compact.onTooLong", onTooLong, ["shrink", "fail"]);
  checkSteps(how);
  checkSummary("createEngine: compact", summary);
  return { ...policy, how: [...how], ...(policy.summary === undefined ? {} : { summary: { ...summary } }) };
}

/** How a Turn is made shorter between two runs; what is not said is as with an engine's policy. */
export type CompactOptions = Pick<CompactPolicy, "keep" | "maxResultLength"> & {
  readonly how?: Exclude<CompactionStep, "summarise">;
};

/**
 * The options as they were given, complete.
 *
 * @throws {TypeError | RangeError} for an option that is none, and a value that it cannot have.
 */
export function checkedCompaction(options: CompactOptions): Required<CompactOptions> {
  checkOptions("compact", options, { how: true, keep: true, maxResultLength: true });
  const { how = "truncate-results" } = options;
  const { keep, maxResultLength } = { ...defaultCompactPolicy, ...options };
  const given: string = how;
  if (given === "summarise")
    throw new TypeError("compact: how is 'summarise', and a summary needs a model: write compact(engine, { keep })");
  checkChoice("compact: how", how, ["truncate-results", "drop-exchanges"]);
  checkWhole("compact: keep", keep);
  checkWhole("compact: maxResultLength", maxResultLength);
  if (maxResultLength < minResultLength)
    throw new RangeError(`compact: maxResultLength is ${maxResultLength}: give at least ${minResultLength}`);
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
  if (summary !== undefined) checkSummary("compact", summary);
  const { maxResultLength, onTooLong } = policy;
  const asked = summary === undefined ? {} : { summary: { ...summary } };
  return { how: ["summarise"], keep, maxResultLength, onTooLong, only: true, ...asked };
}

function checkSteps(how: unknown): void {
  if (!Array.isArray(how) || how.length === 0)
    throw new TypeError(`createEngine: compact.how is ${kindOf(how)}: write ["truncate-results", "summarise"]`);
  for (const [index, step] of how.entries()) checkChoice(`createEngine: compact.how[${index}]`, step, compactionSteps);
}

function checkSummary(where: string, summary: NonNullable<CompactPolicy["summary"]>): void {
  checkOptions(`${where}.summary`, summary, { model: true, instructions: true, maxOutputTokens: true });
  const { model, instructions, maxOutputTokens } = summary;
  if (model !== undefined) checkText(`${where}.summary.model`, model, "its name");
  if (instructions !== undefined) checkText(`${where}.summary.instructions`, instructions, "what the model is told");
  if (maxOutputTokens !== undefined) checkWhole(`${where}.summary.maxOutputTokens`, maxOutputTokens);
}
