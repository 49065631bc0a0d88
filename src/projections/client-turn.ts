import { type Block, idOf } from "../domain/block.ts";
import { blockFromJson } from "../domain/block-json.ts";
import { applyEdits, type BlockContent, type Edit } from "../domain/edits.ts";
import type { ConversationEventOf } from "../domain/events/event.ts";
import type { RecordedEvent } from "../domain/events/recorded.ts";
import { Turn } from "../domain/turn.ts";
import { type Blame, type BlameView, emptyBlame, noteRunEnd, noteVersion } from "./blame.ts";
import { ConversationDamagedError } from "./damage.ts";
import { byStream, type Projection } from "./projection.ts";
import { RunTurns } from "./run-turns.ts";

/** A run that has not ended. */
export type OpenRun = {
  readonly id: string;
  readonly started: ConversationEventOf<"RunStarted">["data"];
  readonly startedAt: string;
  readonly startedRevision: number;
  readonly turns: RunTurns;
  /** Blocks appended meanwhile: durable and visible, in the Turn once the run has ended. */
  readonly pending: Block[];
  /** Frames of the inferences, by inference id. */
  readonly inferences: Map<string, { readonly frame: string; isOpen: boolean }>;
};

/** What the client's side of a conversation is at a revision (MODEL 4, 9, 12). */
export type ClientTurnView = {
  /** The Turn of the last ended run, and the blocks appended since. */
  committed: Turn;
  run: OpenRun | null;
  readonly blame: BlameView;
};

/** The client's Turn, frames included. */
export const clientTurn: Projection<ClientTurnView> = {
  name: "client-turn",
  version: 1,
  lineage: "inherit",
  key: byStream,
  initial: () => ({ committed: Turn.empty, run: null, blame: emptyBlame() }),
  apply(view, recorded) {
    try {
      applyEvent(view, recorded);
    } catch (cause) {
      throw new ConversationDamagedError(cause instanceof Error ? cause.message : "damage", recorded.revision, cause);
    }
    return view;
  },
};

/** Who made and last changed a block, and who removed it. */
export function blameOf(view: ClientTurnView, blockId: string): Blame | null {
  return view.blame.get(blockId) ?? null;
}

function applyEvent(view: ClientTurnView, recorded: RecordedEvent): void {
  const { event, actor } = recorded;
  switch (event.type) {
    case "BlockAppended": {
      const block = blockFromJson(event.data.block);
      noteVersion(view.blame, block, recorded);
      if (view.run === null) view.committed = view.committed.append(block);
      else view.run.pending.push(block);
      return;
    }
    case "RunStarted":
      mustEqual(view.committed.digest, event.data.base, "the Turn that the run started from");
      view.run = {
        id: recorded.runId ?? "",
        started: event.data,
        startedAt: recorded.at,
        startedRevision: recorded.revision,
        turns: new RunTurns(view.committed),
        pending: [],
        inferences: new Map(),
      };
      return;
    case "RunCompleted":
      endRun(view, event.data.after, "completed", recorded);
      return;
    case "RunFailed":
    case "RunCancelled":
      endRun(view, event.data.after, "unfinished", recorded);
      return;
    case "TurnEdited":
      applyPass(openRun(view), event.data, recorded, view.blame);
      return;
    case "InferenceRequested": {
      const { turns, inferences } = openRun(view);
      const frame = recorded.frame ?? "0";
      mustEqual(turns.request(frame).digest, event.data.input.turn, "the outgoing Turn");
      inferences.set(event.data.inferenceId, { frame, isOpen: true });
      return;
    }
    case "ResponseReceived": {
      const { turns, inferences } = openRun(view);
      const inference = inferences.get(event.data.inferenceId);
      if (inference === undefined) throw new Error(`no inference ${event.data.inferenceId} was requested`);
      inference.isOpen = false;
      const output = event.data.output.map(blockFromJson).filter(entersTurn);
      for (const block of output) noteVersion(view.blame, block, recorded);
      turns.respond(inference.frame, output, actor);
      return;
    }
    case "InferenceFailed": {
      const inference = openRun(view).inferences.get(event.data.inferenceId);
      if (inference !== undefined) inference.isOpen = false;
      return;
    }
    case "ToolStarted":
      openRun(view).turns.startTool(event.data.blockId);
      return;
    case "ToolFinished": {
      if (event.data.late === true) return;
      const result = blockFromJson(event.data.result);
      noteVersion(view.blame, result, recorded);
      openRun(view).turns.finishTool(event.data.blockId, result, actor);
      return;
    }
    default:
  }
}

/** Of a response that did not complete only the text enters the Turn (MODEL 6). */
export const entersTurn = (block: Block): boolean => block.wire?.partial !== true || block.kind === "assistant";

function applyPass(
  run: OpenRun,
  pass: ConversationEventOf<"TurnEdited">["data"],
  recorded: RecordedEvent,
  blame: BlameView,
): void {
  const { turns } = run;
  const { actor } = recorded;
  const frame = recorded.frame ?? "0";
  const isRequest = pass.direction === "request";
  for (const block of newBlocks(pass.edits)) {
    // Written out although it was there before, it is another word of the provider's on the same content.
    if (turns.version(idOf(block), block.digest) === null) turns.addVersion(block, actor);
    noteVersion(blame, block, recorded);
  }
  const before = turns.get(nameOf(pass.from));
  const after = applyEdits(before, pass.edits, ({ id, digest }) => turns.version(id, digest) ?? undefined);
  mustEqual(
    after.digest,
    pass.after,
    `the Turn that ${isRequest ? "was passed on to" : "came back from"} frame ${frame}`,
  );
  const base = nameOf(pass.base ?? pass.from);
  turns.handOn(isRequest ? `given/${frame}` : `result/${frame}`, after, { base, actor });
}

function newBlocks(edits: readonly Edit[]): readonly Block[] {
  const contents: readonly BlockContent[] = edits.flatMap((edit) => {
    if (edit.op === "insert") return edit.blocks;
    return edit.op === "replace" ? [edit.block] : [];
  });
  return contents.flatMap((content) => ("block" in content ? [blockFromJson(content.block)] : []));
}

function endRun(view: ClientTurnView, after: string, how: "completed" | "unfinished", recorded: RecordedEvent): void {
  const { turns, pending, startedRevision } = openRun(view);
  const result = how === "completed" ? turns.get("result/0") : turns.unfinishedTurn();
  mustEqual(result.digest, after, "the Turn that the run ended with");
  const removals = how === "completed" ? turns.removalsBefore("result/0") : turns.removals;
  noteRunEnd(view.blame, { base: turns.base, result, removals, startedRevision }, recorded);
  view.committed = result.append(...pending);
  view.run = null;
}

function openRun(view: ClientTurnView): OpenRun {
  if (view.run === null) throw new Error("no run is open");
  return view.run;
}

function nameOf(text: string): `given/${string}` | `result/${string}` {
  return text.startsWith("given/") ? `given/${text.slice(6)}` : `result/${text.slice(7)}`;
}

function mustEqual(actual: string, expected: string, what: string): void {
  if (actual !== expected) {
    throw new Error(`${what} has the digest ${actual.slice(0, 12)}…, but ${expected.slice(0, 12)}… was recorded`);
  }
}
