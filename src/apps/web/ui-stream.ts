import type { ToolChunk, ToolState, UiChunk } from "./ui-chunk.ts";
import type { UiAnswer, UiPart, UiStep } from "./ui-steps.ts";

/**
 * What a page was sent of an answer, and the chunks that bring it to what the answer is now. Every reader has one of its own, however fast it
 * reads: the chunks follow from two states, so that live and replayed streams end with the same message.
 */
export class UiStream {
  #hasStarted = false;
  #sent: UiStep[];
  #takenBack = "";

  /** @param known - The steps that the page shows already, when it waits for the rest of an answer. */
  constructor(known: readonly UiStep[] = []) {
    this.#sent = [...known];
  }

  /** The text of the last step, if it was taken back and nothing has come in its place. */
  get takenBack(): string {
    return this.#takenBack;
  }

  /**
   * The chunks from what was sent to this answer. A step that has changed otherwise than by more text is sent again, if it is the last one.
   *
   * @param isLast - Whether the answer is complete, or waits: then a page that cannot be brought there is told to load it again.
   */
  show({ id, steps }: UiAnswer, isLast = false): readonly UiChunk[] {
    const chunks: UiChunk[] = this.#hasStarted ? [] : [{ type: "start", messageId: id }];
    this.#hasStarted = true;
    const newest = this.#sent.length - 1;
    let isLost = false;
    for (const [index, sent] of this.#sent.entries()) {
      const step = steps[index] ?? [];
      const rest = restOfStep(sent, step, { index, isNewest: index === newest });
      // Only the newest step can be taken back.
      if (rest === null && index < newest) isLost = true;
      else this.#sent[index] = step;
      if (rest !== null) chunks.push(...rest);
      else if (index === newest) chunks.push({ type: "reset-step" }, ...wholeStep(step, index));
      if (index !== newest) continue;
      if (step.length > 0) this.#takenBack = "";
      else if (sent.length > 0) this.#takenBack = sent.map((part) => (part.kind === "text" ? part.text : "")).join("");
    }
    for (const [index, step] of steps.entries()) {
      if (index <= newest) continue;
      if (index > 0) chunks.push({ type: "finish-step" });
      chunks.push({ type: "start-step" }, ...wholeStep(step, index));
      this.#sent.push(step);
    }
    if (isLast) {
      if (this.#sent.length > 0) chunks.push({ type: "finish-step" });
      if (isLost) chunks.push({ type: "data-turn-changed", data: { messageId: id }, transient: true });
    }
    return chunks;
  }
}

type Place = { readonly index: number; readonly isNewest: boolean };

/** What a page that has a step lacks of its newer state; null if it cannot be brought there by more. */
function restOfStep(sent: UiStep, step: UiStep, { index, isNewest }: Place): readonly UiChunk[] | null {
  if (sent.length > step.length || (step.length > sent.length && !isNewest)) return null;
  const chunks: UiChunk[] = [];
  for (const [at, part] of step.entries()) {
    const before = sent[at];
    const rest =
      before === undefined ? wholePart(part, partId(index, at)) : restOfPart(before, part, partId(index, at));
    if (rest === null) return null;
    // A reader takes the arguments of a call only in the newest step for the same call.
    const read = isNewest ? rest : rest.map(asOutput);
    if (!isNewest && read.some(({ type }) => type.startsWith("tool-input-"))) return null;
    chunks.push(...read);
  }
  return chunks;
}

const partId = (step: number, at: number): string => `${step}.${at}`;

const wholeStep = (step: UiStep, index: number): readonly UiChunk[] =>
  step.flatMap((part, at) => wholePart(part, partId(index, at)));

function wholePart(part: UiPart, id: string): readonly UiChunk[] {
  switch (part.kind) {
    case "whole":
      return [part.chunk];
    case "tool":
      return part.arriving === null ? part.states : [inputStart(part), ...inputDelta(part.id, part.arriving)];
    default:
      return [{ type: `${part.kind}-start`, id }, ...textRest(part, id, 0)];
  }
}

function restOfPart(sent: UiPart, part: UiPart, id: string): readonly UiChunk[] | null {
  if (sent.kind === "tool" && part.kind === "tool") return restOfCall(sent, part);
  if (sent.kind === "whole" && part.kind === "whole") return isSame(sent.chunk, part.chunk) ? [] : null;
  if (sent.kind === "whole" || sent.kind === "tool" || part.kind === "whole" || part.kind === "tool") return null;
  if (sent.kind !== part.kind || !beginsWith(part.text, sent.text)) return null;
  if (sent.isOpen) return textRest(part, id, sent.text.length);
  return part.text === sent.text && !part.isOpen ? [] : null;
}

/** The same as `startsWith`, which compares long texts sign by sign: most of the time of a stream went there. */
const beginsWith = (text: string, start: string): boolean => text.slice(0, start.length) === start;

type TextPart = Extract<UiPart, { readonly text: string }>;

function textRest({ kind, text, isOpen }: TextPart, id: string, from: number): readonly UiChunk[] {
  const delta = text.slice(from);
  const more: readonly UiChunk[] = delta === "" ? [] : [{ type: `${kind}-delta`, id, delta }];
  return isOpen ? more : [...more, { type: `${kind}-end`, id }];
}

type ToolPart = Extract<UiPart, { readonly kind: "tool" }>;

const inputStart = ({ id, name }: ToolPart): ToolChunk => ({
  ...{ type: "tool-input-start", toolCallId: id, toolName: name, dynamic: true },
});

const inputDelta = (toolCallId: string, inputTextDelta: string): readonly ToolChunk[] =>
  inputTextDelta === "" ? [] : [{ type: "tool-input-delta", toolCallId, inputTextDelta }];

/** A call's state changes in place: all from the first difference on is sent again. */
function restOfCall(sent: ToolPart, part: ToolPart): readonly UiChunk[] | null {
  if (sent.id !== part.id || sent.name !== part.name) return null;
  if (sent.arriving !== null) {
    if (part.arriving === null) return part.states;
    return beginsWith(part.arriving, sent.arriving)
      ? inputDelta(part.id, part.arriving.slice(sent.arriving.length))
      : null;
  }
  if (part.arriving !== null) return null;
  const first = part.states.findIndex((state, at) => !isSame(asOutput(state), asOutput(sent.states[at])));
  const rest = first < 0 ? [] : part.states.slice(first);
  const isOverwritten = sent.states.every((state, at) => isOverwrittenBy(state, part.states[at]));
  return isOverwritten ? rest : null;
}

/** A page that has the arguments of a call shows an error in them as an error in its output. */
const asOutput = <Chunk extends UiChunk | undefined>(chunk: Chunk): Chunk | ToolState =>
  chunk?.type === "tool-input-error"
    ? { type: "tool-output-error", toolCallId: chunk.toolCallId, errorText: chunk.errorText }
    : chunk;

/** Whether a later state leaves nothing of an earlier one: a call that was not asked about cannot lose the question again. */
function isOverwrittenBy(sent: ToolState, state: ToolState | undefined): boolean {
  if (state === undefined) return false;
  const isOutput = ({ type }: ToolState): boolean =>
    type === "tool-output-available" || type === "tool-output-error" || type === "tool-input-error";
  return sent.type === state.type || (isOutput(sent) && isOutput(state));
}

/** Both are built by the same code, so that their members have one order. */
const isSame = (left: unknown, right: unknown): boolean => JSON.stringify(left) === JSON.stringify(right);
