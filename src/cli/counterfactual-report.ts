import type { CounterfactualStep, StepFacts } from "../engine/replay/compared-steps.ts";
import type { Counterfactual } from "../engine/replay/counterfactual.ts";
import { counted, grouped, printable, shortId } from "../projections/wording.ts";
import type { CliContext } from "./context.ts";
import { type Cell, tableLines } from "./table.ts";

type About = { readonly conversation: string; readonly to: number; readonly savedAs: string | null };

/** What would have been, beside what was. */
export function printCounterfactual(context: CliContext, { steps, unknown, turn }: Counterfactual, about: About): void {
  const before = figuresOf(steps.map(({ recorded }) => recorded));
  const after = figuresOf(steps.map(({ otherwise }) => otherwise));
  const first = steps.findIndex(({ isSame }) => !isSame);
  if (context.isJson) {
    const { savedAs, ...place } = about;
    const firstDifference = first < 0 ? null : first;
    const result = { blocks: turn.length, digest: turn.digest };
    context.printJson({
      ...place,
      steps,
      recorded: before,
      otherwise: after,
      firstDifference,
      unknown,
      result,
      savedAs,
    });
    return;
  }
  const { style } = context;
  const different = steps[first];
  for (const line of tableLines(
    steps.map((step, index) => rowOf(context, step, index)),
    context,
  ))
    context.print(line);
  const differing = steps.filter(({ isSame }) => !isSame).length;
  const which = first < 0 ? "" : `, the first of them step ${first + 1}`;
  context.print(style.bold(`${grouped(differing)} of ${counted(steps.length, "step")} different${which}`));
  if (different !== undefined) {
    context.print(`  layers did before: ${editsOf(different.recorded)}`);
    context.print(`  layers did then: ${editsOf(different.otherwise)}`);
  }
  context.print(`broken chains: ${grouped(before.broken)} before, ${grouped(after.broken)} then`);
  context.print(`sent: ${grouped(before.bytes)} bytes before, ${grouped(after.bytes)} then`);
  if (unknown !== null) {
    context.print(`${style.bold("unknown from here")}: ${unknown.what}, at frame ${unknown.frame} of ${unknown.runId}`);
  }
  if (about.savedAs !== null) context.note(`kept as ${about.savedAs}`);
}

type Figures = { readonly steps: number; readonly broken: number; readonly bytes: number };

function figuresOf(all: readonly (StepFacts | null)[]): Figures {
  const facts = all.filter((each) => each !== null);
  return {
    steps: facts.length,
    broken: facts.filter(({ strategy, reason }) => strategy !== "chained" && reason !== "first-request").length,
    bytes: facts.reduce((sum, { bytes }) => sum + bytes, 0),
  };
}

function rowOf(
  { style }: CliContext,
  { recorded, otherwise, isSame }: CounterfactualStep,
  index: number,
): readonly Cell[] {
  const number = `${index + 1}`;
  if (isSame) return [number, placeOf(recorded), planOf(recorded), { text: "the same", style: style.dim }];
  const then = otherwise === null ? "not asked" : planOf(otherwise);
  return [number, placeOf(recorded), planOf(recorded), { text: then, style: style.warn }];
}

const placeOf = (facts: StepFacts | null): string => (facts?.revision == null ? "" : `@${facts.revision}`);

function planOf(facts: StepFacts | null): string {
  if (facts === null) return "not asked";
  const from = facts.anchor === null ? "" : ` from ${shortId(facts.anchor)}`;
  return `${facts.strategy}${from}, ${grouped(facts.bytes)} bytes`;
}

function editsOf(facts: StepFacts | null): string {
  const edits = (facts?.edits ?? []).map(({ layer, operations }) => `${printable(layer)} ${operations.join(", ")}`);
  return edits.length === 0 ? "nothing" : edits.join("; ");
}
