import { counted, grouped, printable, shortId } from "../projections/wording.ts";
import type { CounterfactualStep, OtherStep, StepFacts } from "../replay/compared-steps.ts";
import type { Counterfactual } from "../replay/counterfactual.ts";
import type { CliContext } from "./context.ts";
import { NotFoundError } from "./exit-codes.ts";
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
      steps: steps.map(({ otherwise, ...step }) => ({ ...step, otherwise: otherwise && withoutBody(otherwise) })),
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

const withoutBody = ({ bodyText: _, ...facts }: OtherStep): StepFacts => facts;

type AskedBody = { readonly conversation: string; readonly to: number; readonly step: number };

/**
 * The body that a step would have sent, as `turnlog request` prints one that was sent.
 *
 * @throws {NotFoundError} when there is no such step, or it would not have been made.
 */
export function printBody(context: CliContext, { steps }: Counterfactual, { step, ...about }: AskedBody): void {
  const otherwise = steps[step - 1]?.otherwise;
  if (otherwise === undefined)
    throw new NotFoundError(`there is no step ${step}: there are ${counted(steps.length, "step")}`);
  if (otherwise === null) throw new NotFoundError(`step ${step} would not have been made`);
  const { bodyText, requestDigest: sha256, bytes } = otherwise;
  if (context.isJson) context.printJson({ ...about, step, sha256, bytes, bodyText });
  else {
    context.write(bodyText ?? "");
    if (context.isTerminal) context.print();
  }
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
