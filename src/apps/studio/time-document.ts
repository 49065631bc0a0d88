import { fitting } from "./by-bytes.ts";
import type { LogRow, Span, TimeDocument } from "./page-documents.ts";
import type { Reel } from "./reel.ts";
import { type Step, shownVerdict } from "./step.ts";
import { firstFrom } from "./step-at.ts";

/** The most spans of an answer. */
const mostSpans = 60;

/** What took how long in the run that a revision belongs to, as tracing tools draw it. */
export function timeDocument(reel: Reel, revision: number): TimeDocument {
  const group = reel.groups.findLast(({ from }) => from <= revision) ?? { from: revision, to: revision, state: "done" };
  const rows = reel.rows.slice(group.from, group.to + 1);
  const start = rows.find(({ type }) => type === "RunStarted") ?? rows[0];
  const startedAt = start?.at ?? "";
  const ms = (at: string): number => Math.max(0, Date.parse(at) - Date.parse(startedAt));
  const steps = reel.steps.slice(firstFrom(reel.steps, group.from), firstFrom(reel.steps, group.to + 1));
  const parts = [steps.flatMap((step) => spansOfStep(step, ms)), toolSpans(rows, ms), editMarks(rows, ms)];
  const spans = parts.flat().toSorted((left, right) => left.fromMs - right.fromMs || left.revision - right.revision);
  const first = Math.max(0, spans.findIndex((span) => span.revision >= revision) - mostSpans / 2);
  return {
    ...{ conversation: reel.id, runId: steps[0]?.runId ?? null, from: group.from, to: group.to, startedAt },
    ms: spans.reduce(
      (most, span) => Math.max(most, span.fromMs + (span.ms ?? 0)),
      Math.max(1, ms(rows.at(-1)?.at ?? startedAt)),
    ),
    isOpen: group.state === "open",
    total: spans.length,
    spans: fitting(spans.slice(first, first + mostSpans)),
  };
}

type Ms = (at: string) => number;

function spansOfStep(step: Step, ms: Ms): readonly Span[] {
  const verdict = shownVerdict(step);
  const { revision, at, outcome, model } = step;
  const asked: Span = {
    ...{ revision, sign: "request", name: model ?? "request", layerNumber: null, verdict, fromMs: ms(at) },
    ms: outcome === null ? null : ms(outcome.at) - ms(at),
    isFailure: outcome?.isFailure === true,
  };
  return [asked];
}

/** From `ToolStarted` to `ToolFinished`. Calls at the same time end in any order, so their names tell which end belongs to which call. */
function toolSpans(rows: readonly LogRow[], ms: Ms): readonly Span[] {
  const finished = rows.filter(({ type }) => type === "ToolFinished");
  const used = new Set<LogRow>();
  return rows
    .filter(({ type }) => type === "ToolStarted")
    .map((row) => {
      const name = row.words.replace(/ began$/i, "");
      const end = finished.find((each) => !used.has(each) && each.revision > row.revision && isOf(each, name));
      if (end !== undefined) used.add(end);
      const isFailure = end !== undefined && end.words !== name && end.words.toLowerCase() !== name.toLowerCase();
      return {
        ...{ revision: row.revision, sign: "tool" as const, name, layerNumber: null, verdict: null },
        ...{ fromMs: ms(row.at), ms: end === undefined ? null : ms(end.at) - ms(row.at), isFailure },
      };
    });
}

const isOf = ({ words }: LogRow, name: string): boolean => words.toLowerCase().startsWith(name.toLowerCase());

/** Layers' passes have a time, but no length that the log knows. */
const editMarks = (rows: readonly LogRow[], ms: Ms): readonly Span[] =>
  rows
    .filter(({ type, sign }) => type === "TurnEdited" && sign === "layer")
    .map(({ revision, at, layer, layerNumber, change, detail, value }) => ({
      ...{ revision, sign: "layer" as const, layerNumber, verdict: null, fromMs: ms(at), ms: 0, isFailure: false },
      name: `${layer ?? ""} ${change ?? ""} ${detail} ${value}`,
    }));
