import { shortId } from "../../analysis/descriptions/labels.ts";
import { counted, grouped } from "../../base/counted.ts";
import { printable } from "../../base/printable.ts";
import type { Counterfactual } from "../../replay/counterfactual.ts";
import { isAsRecorded } from "../documents/counterfactual-document.ts";
import type { CounterfactualDocument, StepBodyDocument, StepDocument } from "../documents/running.ts";
import type { Screen } from "./context.ts";
import { NotFoundError } from "./exit-codes.ts";
import type { Cell, Style } from "./screen.ts";

/**
 * The body that a step would have sent.
 *
 * @throws {NotFoundError} if there is no such step, or it would not have been made.
 */
export function describeStepBody(
  { steps }: Counterfactual,
  about: Pick<StepBodyDocument, "conversation" | "to" | "step">,
): StepBodyDocument {
  const { step } = about;
  const otherwise = steps[step - 1]?.otherwise;
  if (otherwise === undefined)
    throw new NotFoundError(`there is no step ${step}: the run has ${counted(steps.length, "step")}`);
  if (otherwise === null) throw new NotFoundError(`the other stack makes no step ${step}`);
  const { bodyText, requestDigest: sha256, bytes } = otherwise;
  return { ...about, sha256, bytes, bodyText: bodyText ?? "" };
}

export function renderCounterfactual(document: CounterfactualDocument, { style, print, table, note }: Screen): void {
  const { steps, recorded, otherwise, firstDifference, failures, unknown, savedAs } = document;
  table(steps.map((step, index) => rowOf(step, index, style)));
  const differing = steps.filter((step) => !isAsRecorded(step)).length;
  const which = firstDifference === null ? "" : `, the first of them step ${firstDifference + 1}`;
  print(style.bold(`${grouped(differing)} of ${counted(steps.length, "step")} different${which}`));
  const different = firstDifference === null ? undefined : steps[firstDifference];
  if (different !== undefined)
    print(`  layers did before: ${editsOf(different.recorded)}`, `  layers did then: ${editsOf(different.otherwise)}`);
  print(
    `broken chains: ${grouped(recorded.broken)} before, ${grouped(otherwise.broken)} then`,
    `sent: ${grouped(recorded.bytes)} bytes before, ${grouped(otherwise.bytes)} then`,
  );
  for (const { runId, kind, message, layer } of failures) {
    const by = layer === null ? "" : ` by layer ${printable(layer)}`;
    print(`${style.bad(`${runId} fails${by}`)} (${kind}): ${printable(message)}`);
  }
  if (unknown !== null)
    print(`${style.bold("unknown from here")}: ${unknown.what}, at frame ${unknown.frame} of ${unknown.runId}`);
  if (savedAs !== null) note(`kept as ${savedAs}`);
}

function rowOf(
  { recorded, otherwise, isSame, readsSame }: CounterfactualDocument["steps"][number],
  index: number,
  style: Style,
): readonly Cell[] {
  const number = `${index + 1}`;
  if (isSame && readsSame) return [number, placeOf(recorded), planOf(recorded), { text: "the same", style: style.dim }];
  const read = otherwise !== null && readsSame ? ", read the same" : "";
  const then = isSame ? "the same bytes, but read differently" : `${planOf(otherwise)}${read}`;
  return [number, placeOf(recorded), planOf(recorded), { text: then, style: style.warn }];
}

const placeOf = (facts: StepDocument | null): string => (facts?.revision == null ? "" : `@${facts.revision}`);

function planOf(facts: StepDocument | null): string {
  if (facts === null) return "not asked";
  const from = facts.anchor === null ? "" : ` from ${shortId(facts.anchor)}`;
  return `${facts.strategy}${from}, ${grouped(facts.bytes)} bytes`;
}

function editsOf(facts: StepDocument | null): string {
  const edits = (facts?.edits ?? []).map(({ layer, operations }) => `${printable(layer)} ${operations.join(", ")}`);
  return edits.length === 0 ? "nothing" : edits.join("; ");
}
