import type { Actor } from "../domain/actor.ts";
import { type Block, idOf } from "../domain/block.ts";
import { type BlockJson, blockFromJson } from "../domain/block-json.ts";
import { applyEdits, blocksOfEdits } from "../domain/edits.ts";
import type { ConversationEventOf } from "../domain/events/event.ts";
import type { RecordedEvent } from "../domain/events/recorded.ts";
import type { Owner } from "../domain/events/run-events.ts";
import { type EffectState, effectIn } from "../domain/facts.ts";
import { isAside } from "../domain/frame.ts";
import type { BlockId } from "../domain/ids.ts";
import type { Turn } from "../domain/turn.ts";
import { type BlameView, type BlockChange, changeOf, noteVersion } from "./blame.ts";
import { KnownFrames } from "./known-frames.ts";
import { RunTurns, type TurnName } from "./run-turns.ts";

/** A run that has not ended. */
export type OpenRun = {
  readonly id: string;
  readonly started: ConversationEventOf<"RunStarted">["data"];
  readonly startedAt: string;
  readonly startedRevision: number;
  readonly stream: string;
  /** How often it was taken up, and by whom last; null while it is parked. */
  epoch: number;
  owner: Owner | null;
  /** Who asked for its end first, and why; null where nobody did. */
  cancelRequest: { readonly actor: Actor; readonly reason: string } | null;
  /** Tool calls and layers' effects, by id, as the newest event of each has them. */
  readonly effects: Map<string, EffectState>;
  /** Calls and effects in doubt that nobody has settled yet, by block id: their names. */
  readonly inDoubt: Map<BlockId, string>;
  readonly turns: RunTurns;
  /** Those that its events speak of; the Turns above know the ones that something was handed on to. */
  readonly frames: KnownFrames;
  /** What its passes left out, also what was put back: when, and by whom. */
  readonly removed: Map<string, BlockChange>;
  /** Blocks appended meanwhile: durable and visible, in the Turn once the run has ended. */
  readonly pending: Block[];
  /** Frames and endpoints of the inferences, by inference id. */
  readonly inferences: Map<
    string,
    {
      readonly frame: string;
      readonly scope: string;
      isOpen: boolean;
      /** The server refused it, and has not acted on it. */
      isRejected: boolean;
    }
  >;
  /** Responses that servers make in the background, by inference id: begun, and nobody has them yet. */
  readonly underWay: Map<string, { readonly responseId: string; readonly scope: string }>;
};

/** A run as it begins. */
export const beginRun = (
  base: Turn,
  started: ConversationEventOf<"RunStarted">["data"],
  { runId, at, revision, stream }: RecordedEvent,
): OpenRun => ({
  id: runId ?? "",
  started,
  startedAt: at,
  startedRevision: revision,
  stream,
  epoch: started.epoch,
  owner: started.owner,
  cancelRequest: null,
  effects: new Map(),
  inDoubt: new Map(),
  turns: new RunTurns(base),
  frames: new KnownFrames(),
  removed: new Map(),
  pending: [],
  inferences: new Map(),
  underWay: new Map(),
});

/** What happens between the beginning of a run and its end. */
type StepEvent = ConversationEventOf<
  | "RunResumed"
  | "RunParked"
  | "RunCancelRequested"
  | "ToolParked"
  | "ToolSettled"
  | "TurnEdited"
  | "InferenceRequested"
  | "ResponseStarted"
  | "ResponseReceived"
  | "InferenceFailed"
  | "ToolStarted"
  | "ToolFinished"
  | "EffectStarted"
  | "EffectFinished"
>;

/** Folds an event of the run into it. */
export function applyToRun(run: OpenRun, event: StepEvent, recorded: RecordedEvent, blame: BlameView | null): void {
  const { turns, inferences, underWay } = run;
  const effect = effectIn(event);
  if (effect !== null) run.effects.set(effect.id, effect.state);
  switch (event.type) {
    case "RunResumed":
      run.epoch = event.data.epoch;
      run.owner = event.data.owner;
      return;
    case "RunParked":
      run.owner = null;
      return;
    case "RunCancelRequested":
      run.cancelRequest ??= { actor: recorded.actor, reason: event.data.reason };
      return;
    case "ToolParked":
      run.inDoubt.set(event.data.blockId, event.data.name);
      return;
    case "ToolSettled":
      run.inDoubt.delete(event.data.blockId);
      return;
    case "TurnEdited":
      applyPass(run, event.data, recorded, blame);
      return;
    case "InferenceRequested": {
      const frame = recorded.frame ?? "0";
      const { input, inferenceId, scope } = event.data;
      mustEqual(turns.request(frame).digest, input.outgoing ?? input.turn, "the outgoing Turn");
      inferences.set(inferenceId, { frame, scope, isOpen: true, isRejected: false });
      return;
    }
    case "ResponseStarted": {
      const { inferenceId, responseId } = event.data;
      const scope = inferences.get(inferenceId)?.scope;
      if (scope !== undefined) underWay.set(inferenceId, { responseId, scope });
      return;
    }
    case "ResponseReceived": {
      underWay.delete(event.data.inferenceId);
      const inference = inferences.get(event.data.inferenceId);
      if (inference === undefined) throw new Error(`no inference ${event.data.inferenceId} was requested`);
      inference.isOpen = false;
      if (isAside(inference.frame)) return;
      const output = event.data.output.map(blockFromJson).filter(entersTurn);
      for (const block of output) noteVersion(blame, block, recorded);
      turns.respond(inference.frame, output, recorded.actor);
      return;
    }
    case "InferenceFailed": {
      const inference = inferences.get(event.data.inferenceId);
      if (inference !== undefined) {
        inference.isOpen = false;
        inference.isRejected = event.data.outcome === "rejected";
      }
      if (!waitingEnded.has(event.data.kind)) underWay.delete(event.data.inferenceId);
      return;
    }
    case "ToolStarted":
      turns.startTool(event.data.blockId);
      return;
    case "ToolFinished": {
      const result = blockFromJson(event.data.result);
      noteVersion(blame, result, recorded);
      turns.finishTool(event.data.blockId, result, recorded.actor);
      return;
    }
    default:
  }
}

/** Of a response that did not complete only the text enters the Turn (rule: Settings). */
export const entersTurn = (block: Block | BlockJson): boolean =>
  block.wire?.partial !== true || block.kind === "assistant";

/** Failures of the waiting for an answer, which say nothing of the response. */
const waitingEnded: ReadonlySet<string> = new Set([
  ...["aborted", "connection", "timeout", "stream-cut", "provider-failed"],
  ...["body-too-large", "item-too-large", "stream-too-large", "answer-stalled"],
]);

function applyPass(
  run: OpenRun,
  pass: ConversationEventOf<"TurnEdited">["data"],
  recorded: RecordedEvent,
  blame: BlameView | null,
): void {
  const { turns } = run;
  const { actor } = recorded;
  const frame = recorded.frame ?? "0";
  const isRequest = pass.direction === "request";
  for (const block of blocksOfEdits(pass.edits).map(blockFromJson)) {
    // Written out although it was there before, it is another word of the provider's on the same content.
    if (turns.version(idOf(block), block.digest) === null) turns.addVersion(block, actor);
    if (!isAside(frame)) noteVersion(blame, block, recorded);
  }
  const before = turns.get(nameOf(pass.from));
  const after = applyEdits(before, pass.edits, ({ id, digest }) => turns.version(id, digest) ?? undefined);
  mustEqual(
    after.digest,
    pass.after,
    `the Turn that ${isRequest ? "was passed on to" : "came back from"} frame ${frame}`,
  );
  const base = nameOf(pass.base ?? pass.from);
  const target = isRequest ? (`given/${frame}` as const) : (`result/${frame}` as const);
  for (const id of turns.handOn(target, after, { base, actor })) run.removed.set(id, changeOf(recorded));
}

function nameOf(text: string): TurnName {
  if (text === "empty") return text;
  return text.startsWith("given/") ? `given/${text.slice(6)}` : `result/${text.slice(7)}`;
}

export function mustEqual(actual: string, expected: string, what: string): void {
  if (actual !== expected) {
    throw new Error(`${what} has the digest ${actual.slice(0, 12)}…, but ${expected.slice(0, 12)}… was recorded`);
  }
}
