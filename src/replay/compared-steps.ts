import type { Decision, InferenceRequestedData } from "../domain/events/inference-events.ts";
import type { RecordedEvent } from "../domain/events/recorded.ts";
import { isAside } from "../domain/frame.ts";
import type { RecordedAnswers } from "./recorded-answers.ts";
import type { RecordedRun } from "./recorded-runs.ts";

/** The edits of one layer to the Turn of a request. */
export type StepEdit = {
  readonly layer: string;
  readonly direction: "request" | "response";
  /** The operations, in order: `insert`, `replace`, `remove`, `move`. */
  readonly operations: readonly string[];
};

/** How a request was sent, or would have been sent. */
export type StepFacts = Pick<Decision, "strategy" | "reason" | "sendFrom"> & {
  /** Only for recorded steps. */
  readonly revision: number | null;
  readonly frame: string;
  readonly anchor: string | null;
  readonly blocks: number;
  readonly bytes: number;
  readonly requestDigest: string;
  /** Since the previous request. */
  readonly edits: readonly StepEdit[];
};

/** A step as it would have been, and the body that it would have sent; null unless bodies were requested. */
export type OtherStep = StepFacts & { readonly bodyText: string | null };

/** A step as recorded and as it would have been; null on the side that did not make it. */
export type CounterfactualStep = {
  readonly runId: string;
  readonly recorded: StepFacts | null;
  readonly otherwise: OtherStep | null;
  /** Whether both sent the same bytes. */
  readonly isSame: boolean;
  /**
   * Whether the model reads the same, however it was sent: the same Turn, with the same settings. If a context
   * differs, the same bytes after it do not read the same.
   */
  readonly readsSame: boolean;
};

/** The answers of the other stack, and the bodies that it would have sent, by digest. */
type Other = { readonly answers: RecordedAnswers; readonly bodies: ReadonlyMap<string, string> };

/** Pairs the steps of a run with those that another stack made of its answers. */
export function compareSteps(
  run: RecordedRun,
  events: readonly RecordedEvent[],
  { answers, bodies }: Other,
): readonly CounterfactualStep[] {
  const recorded = new Map(factsOf(run.events).map((step) => [step.facts.revision, step]));
  const pairs = factsOf(events).map(({ facts, reading }) => {
    const step = answers.stepOf(facts.frame);
    const before = step === null ? undefined : recorded.get(step.request.revision);
    const otherwise = { ...facts, revision: null, bodyText: bodies.get(facts.requestDigest) ?? null };
    const isSame = before?.facts.requestDigest === facts.requestDigest;
    return {
      runId: run.id,
      recorded: before?.facts ?? null,
      otherwise,
      isSame,
      readsSame: before?.reading === reading,
    };
  });
  const unused = answers.unused.map(({ request }) => recorded.get(request.revision)?.facts ?? null);
  const notMade = { otherwise: null, isSame: false, readsSame: false };
  return [...pairs, ...unused.map((before) => ({ runId: run.id, recorded: before, ...notMade }))];
}

/** A step, and a digest of what the model reads of it: its Turn and its settings. */
type ReadStep = { readonly facts: StepFacts; readonly reading: string };

/** One for each step: the last of its attempts. */
function factsOf(events: readonly RecordedEvent[]): readonly ReadStep[] {
  const all: ReadStep[] = [];
  let edits: StepEdit[] = [];
  for (const { event, actor, revision, frame } of events) {
    // An aside is not a step.
    if (isAside(frame)) continue;
    if (event.type === "TurnEdited" && actor.kind === "middleware") {
      const { name: layer, direction } = actor;
      edits.push({ layer, direction, operations: event.data.edits.map(({ op }) => op) });
    }
    if (event.type !== "InferenceRequested") continue;
    const before = event.data.attempt > 0 && all.at(-1)?.facts.frame === frame ? all.pop()?.facts : undefined;
    const { input, settingsDigest } = event.data;
    all.push({
      facts: stepFacts(event.data, { revision, frame: frame ?? "0", edits: before?.edits ?? edits }),
      reading: `${input.outgoing ?? input.turn} ${settingsDigest}`,
    });
    edits = [];
  }
  return all;
}

function stepFacts(
  { decision, input, requestBytes, requestDigest }: InferenceRequestedData,
  at: Pick<StepFacts, "revision" | "frame" | "edits">,
): StepFacts {
  const { strategy, reason, anchor, sendFrom } = decision;
  return {
    ...at,
    ...{ strategy, reason, sendFrom, requestDigest },
    anchor: anchor?.id ?? null,
    blocks: input.blocks,
    bytes: requestBytes,
  };
}
