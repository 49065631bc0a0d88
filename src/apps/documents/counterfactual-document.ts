import type { CounterfactualStep, OtherStep, StepFacts } from "../../replay/compared-steps.ts";
import type { Counterfactual } from "../../replay/counterfactual.ts";
import type { CounterfactualDocument } from "./running.ts";

/** The counterfactual steps, beside the recorded ones. */
export function counterfactualDocumentOf(
  { steps, failures, unknown, turn }: Counterfactual,
  { savedAs, ...about }: Pick<CounterfactualDocument, "conversation" | "to" | "savedAs">,
): CounterfactualDocument {
  const first = steps.findIndex((step) => !isAsRecorded(step));
  return {
    ...about,
    steps: steps.map(({ otherwise, ...step }) => ({ ...step, otherwise: otherwise && withoutBody(otherwise) })),
    recorded: figuresOf(steps.map(({ recorded }) => recorded)),
    otherwise: figuresOf(steps.map(({ otherwise }) => otherwise)),
    firstDifference: first < 0 ? null : first,
    ...{ failures, unknown },
    result: { blocks: turn.length, digest: turn.digest },
    savedAs,
  };
}

/** Whether another stack would have done the same, as far as the log can say. */
export const isAllTheSame = ({ steps, failures }: Pick<Counterfactual, "steps" | "failures">): boolean =>
  steps.every(isAsRecorded) && failures.length === 0;

/** The same bytes with the same meaning: after another context the same bytes mean something else. */
export const isAsRecorded = ({ isSame, readsSame }: Pick<CounterfactualStep, "isSame" | "readsSame">): boolean =>
  isSame && readsSame;

const withoutBody = ({ bodyText: _, ...facts }: OtherStep): StepFacts => facts;

function figuresOf(all: readonly (StepFacts | null)[]): CounterfactualDocument["recorded"] {
  const facts = all.filter((each) => each !== null);
  return {
    steps: facts.length,
    broken: facts.filter(({ strategy, reason }) => strategy !== "chained" && reason !== "first-request").length,
    bytes: facts.reduce((sum, { bytes }) => sum + bytes, 0),
  };
}
