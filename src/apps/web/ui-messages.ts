import type { JsonObject } from "../../base/json.ts";
import type { Block } from "../../domain/block.ts";
import { openAfter } from "../../domain/calls.ts";
import { saidIn } from "../../domain/message-content.ts";
import type { CallStates } from "./call-states.ts";
import type { ToolState, UiMessage } from "./ui-chunk.ts";
import { fileChunk, stepsOf, type UiAnswer, type UiPart } from "./ui-steps.ts";

/** What a page shows of a Turn: the user's messages, and between them one answer each. */
export type Shown = { readonly kind: "user"; readonly block: Block } | ({ readonly kind: "answer" } & UiAnswer);

/** What messages are made of: the blocks, what is known of calls, and the ids of blocks that people do not read. */
export type ShownTurn = {
  readonly blocks: readonly Block[];
  readonly calls: CallStates;
  readonly hidden: ReadonlySet<string>;
};

/** The id of the answer to a user's message. It is known before the answer comes, and stays when the message is answered anew. */
export const answerIdOf = (blockId: string): string => `${blockId}.answer`;

/** The id of the message that an answer is for; null for other ids. */
export const answeredIn = (id: string): string | null =>
  id.endsWith(".answer") ? id.slice(0, -".answer".length) : null;

/** The messages of a Turn. System messages are for the model, and are left out. */
export function shownOf({ blocks, calls, hidden }: ShownTurn): readonly Shown[] {
  const results = resultsIn(blocks);
  const shown: Shown[] = [];
  let asked = "start";
  let answer: Block[] = [];
  const endAnswer = (): void => {
    const steps = stepsOf(answer, calls, (call) => results.get(call) ?? null);
    if (steps.length > 0) shown.push({ kind: "answer", id: answerIdOf(asked), steps });
    answer = [];
  };
  for (const block of blocks) {
    if (block.kind === "system" || hidden.has(block.id ?? "")) continue;
    if (block.kind !== "user") {
      answer.push(block);
      continue;
    }
    endAnswer();
    asked = block.id ?? "";
    shown.push({ kind: "user", block });
  }
  endAnswer();
  return shown;
}

/** The results of calls, by the calls: a result answers the nearest open call with its id. */
function resultsIn(blocks: readonly Block[]): ReadonlyMap<Block, Block> {
  const results = new Map<Block, Block>();
  openAfter<Block>(blocks, {
    callOf: (block) => (block.kind === "tool_call" ? block : null),
    answered(block, open) {
      if (block.kind !== "tool_result") return undefined;
      const call = open.findLast(({ callId }) => callId === block.callId);
      if (call !== undefined) results.set(call, block);
      return call;
    },
  });
  return results;
}

/** A message as `readUIMessageStream` makes it of an answer's chunks. */
export const messageOf = (shown: Shown): UiMessage =>
  shown.kind === "user"
    ? { id: shown.block.id ?? "", role: "user", parts: shown.block.parts.flatMap(userPart) }
    : { id: shown.id, role: "assistant", parts: shown.steps.flatMap(stepParts) };

function userPart(part: JsonObject): readonly JsonObject[] {
  const text = saidIn(part);
  if (text !== null) return [{ type: "text", text }];
  const file = fileChunk(part);
  if (file === null) return [];
  const { name } = part;
  return [{ ...file, ...(typeof name === "string" ? { filename: name } : {}) }];
}

const stepParts = (step: readonly UiPart[], index: number): readonly JsonObject[] => [
  { type: "step-start" },
  ...step.map((part, at) => partOf(part, `${index}.${at}`)),
];

function partOf(part: UiPart, id: string): JsonObject {
  switch (part.kind) {
    case "text":
      return { type: "text", text: part.text, state: part.isOpen ? "streaming" : "done" };
    case "reasoning":
      return { type: "reasoning", id, text: part.text, state: part.isOpen ? "streaming" : "done" };
    case "whole":
      return { ...part.chunk };
    default:
      return Object.fromEntries([
        ...Object.entries({ type: "dynamic-tool", toolName: part.name, toolCallId: part.id, state: "input-streaming" }),
        ...part.states.flatMap((state) => Object.entries(stateOf(state, part.states))),
      ]);
  }
}

/** The members of a call that a step of its state sets. */
function stateOf(state: ToolState, states: readonly ToolState[]): JsonObject {
  switch (state.type) {
    case "tool-input-available":
      return { state: "input-available", input: state.input };
    case "tool-approval-request":
      return { state: "approval-requested", approval: approvalOf(state) };
    case "tool-approval-response": {
      const { approvalId, approved, reason } = state;
      const asked = states.find((each) => each.type === "tool-approval-request" && each.approvalId === approvalId);
      const question = asked?.type === "tool-approval-request" ? approvalOf(asked) : {};
      const decided = { ...question, approved, ...(reason === undefined ? {} : { reason }) };
      return { state: "approval-responded", approval: decided };
    }
    case "tool-output-available":
      return { state: "output-available", output: state.output };
    case "tool-input-error":
      return { state: "output-error", input: state.input, errorText: state.errorText };
    case "tool-output-error":
      return { state: "output-error", errorText: state.errorText };
    default:
      return { state: "output-denied" };
  }
}

type Question = Extract<ToolState, { readonly type: "tool-approval-request" }>;

const approvalOf = ({ approvalId: id, reason }: Question): JsonObject => ({
  ...{ id, ...(reason === undefined ? {} : { requestReason: reason }) },
});
