import { type Block, idOf } from "../../domain/block.ts";
import { type BlockJson, blockFromJson } from "../../domain/block-json.ts";
import { applyEdits, blocksOfEdits } from "../../domain/edits.ts";
import type { ConversationEvent, ConversationEventOf } from "../../domain/events/event.ts";
import type { RecordedEvent } from "../../domain/events/recorded.ts";
import { isAside } from "../../domain/frame.ts";
import type { Turn } from "../../domain/turn.ts";
import type { RunTurns, TurnName } from "./run-turns.ts";

/** The actor and the frame of an event. */
type Origin = Pick<RecordedEvent, "actor" | "frame">;

/**
 * The objects from which an event was made, if the caller has them: layers compare Turns by identity. They must equal the event's
 * content; digests are checked as for an event that was read.
 */
export type Made = { readonly turn?: Turn; readonly blocks?: readonly Block[] };

/**
 * Applies an event to the Turns of its run. No other code does: the engine calls it when it records an event, and the fold when it reads
 * an event that this process did not record.
 */
export function applyToTurns(turns: RunTurns, event: ConversationEvent, origin: Origin, made: Made = {}): void {
  const { actor } = origin;
  const frame = origin.frame ?? "0";
  switch (event.type) {
    case "TurnEdited":
      handOn(turns, event.data, { actor, frame }, made);
      return;
    case "InferenceRequested": {
      const { input } = event.data;
      mustEqual(turns.request(frame).digest, input.outgoing ?? input.turn, "the outgoing Turn");
      return;
    }
    case "ResponseReceived":
      if (!isAside(frame)) turns.respond(frame, event.data.output.map(blockOf(made)).filter(entersTurn), actor);
      return;
    case "ToolStarted":
      turns.startTool(event.data.blockId);
      return;
    case "ToolParked":
    case "ApprovalRequested":
      turns.keepCall(event.data.blockId);
      return;
    case "ToolFinished":
      // A late result answers no call: the end of the run already did.
      if (event.data.late !== true) turns.finishTool(event.data.blockId, blockOf(made)(event.data.result), actor);
      return;
    default:
  }
}

/** Of an incomplete response, only the text enters the Turn (rule: Settings). */
export const entersTurn = (block: Block | BlockJson): boolean =>
  block.wire?.partial !== true || block.kind === "assistant";

function handOn(
  turns: RunTurns,
  pass: ConversationEventOf<"TurnEdited">["data"],
  { actor, frame }: { readonly actor: RecordedEvent["actor"]; readonly frame: string },
  made: Made,
): void {
  for (const block of blocksOfEdits(pass.edits).map(blockOf(made))) {
    // If a block is already known but is written in full, the provider data about the same content differs.
    if (turns.version(idOf(block), block.recordedAs) === null) turns.addVersion(block, actor);
  }
  const isRequest = pass.direction === "request";
  const version = ({ id, digest }: { readonly id: BlockJson["id"]; readonly digest: BlockJson["digest"] }) =>
    turns.version(id, digest) ?? undefined;
  const after = made.turn ?? applyEdits(turns.get(nameOf(pass.from)), pass.edits, version);
  const what = `the Turn that ${isRequest ? "was passed on to" : "came back from"} frame ${frame}`;
  mustEqual(after.digest, pass.after, what);
  const target: TurnName = isRequest ? `given/${frame}` : `result/${frame}`;
  turns.handOn(target, after, { base: nameOf(pass.base ?? pass.from), actor });
}

/** Returns the block of an event, as the object that it was made from if the caller has it. */
const blockOf =
  ({ turn, blocks = [] }: Made) =>
  (json: BlockJson): Block => {
    const known = blocks.find(({ id }) => id === json.id) ?? turn?.find(json.id);
    return known?.recordedAs === json.digest ? known : blockFromJson(json);
  };

function nameOf(text: string): TurnName {
  if (text === "empty") return text;
  return text.startsWith("given/") ? `given/${text.slice(6)}` : `result/${text.slice(7)}`;
}

export function mustEqual(actual: string, expected: string, what: string): void {
  if (actual !== expected) {
    throw new Error(`${what} has the digest ${actual.slice(0, 12)}…, but ${expected.slice(0, 12)}… was recorded`);
  }
}
