import { type JsonValue, jsonOf, parseJson } from "../../base/json.ts";
import type { Block } from "../../domain/block.ts";
import type { ConversationEventOf } from "../../domain/events/event.ts";
import type { RecordedEvent } from "../../domain/events/recorded.ts";
import type { ApprovalDecidedData, ApprovalRequestedData } from "../../domain/events/tool-events.ts";
import type { ToolState } from "./ui-chunk.ts";

/** What the log has of a call beside its blocks. */
export type CallState = {
  asked?: ApprovalRequestedData;
  decided?: ApprovalDecidedData;
  finished?: Pick<ConversationEventOf<"ToolFinished">["data"], "outcome" | "invalid" | "json">;
};

/** By the ids of the calls' blocks. */
export type CallStates = ReadonlyMap<string, Readonly<CallState>>;

/** What was asked about calls, what was decided, and how they ended, as a fold over events. */
export function noteCall(calls: Map<string, CallState>, { event }: RecordedEvent): void {
  switch (event.type) {
    case "ApprovalRequested":
      // A call with other arguments is asked about anew.
      calls.set(event.data.blockId, { asked: event.data });
      return;
    case "ApprovalDecided":
      stateOf(calls, event.data.blockId).decided = event.data;
      return;
    case "ToolFinished":
      if (event.data.late !== true) stateOf(calls, event.data.blockId).finished = event.data;
      return;
    default:
  }
}

function stateOf(calls: Map<string, CallState>, id: string): CallState {
  const state = calls.get(id) ?? {};
  calls.set(id, state);
  return state;
}

/**
 * The id of a question about a call. It names the arguments, too, so that a button on an old page never approves other ones.
 */
export const approvalIdOf = ({
  blockId,
  inputDigest,
}: Pick<ApprovalRequestedData, "blockId" | "inputDigest">): string => `${blockId}#${inputDigest.slice(0, 16)}`;

/** The steps of a call's state so far. */
export function callChunks(call: Block, calls: CallStates, result: Block | null): readonly ToolState[] {
  const toolCallId = call.id ?? "";
  const toolName = call.name ?? call.type;
  const { asked, decided, finished } = calls.get(toolCallId) ?? {};
  const input = (value: JsonValue): ToolState => ({
    ...{ type: "tool-input-available", toolCallId, toolName, input: value, dynamic: true },
  });
  const states: ToolState[] = [input(inputOf(call))];
  if (asked !== undefined) {
    const approvalId = approvalIdOf(asked);
    const { reason } = asked;
    states.push({ type: "tool-approval-request", approvalId, toolCallId, ...(reason === undefined ? {} : { reason }) });
    if (decided !== undefined) {
      const { how, message } = decided;
      if (how === "edit" && decided.input !== undefined) states.push(input(decided.input));
      const approved = how === "approve" || how === "edit";
      const said = message ?? (how === "expire" ? "nobody decided in time" : undefined);
      states.push({
        ...{ type: "tool-approval-response", approvalId, approved },
        ...(said === undefined ? {} : { reason: said }),
      });
    }
  }
  if (result === null) return states;
  if (finished?.invalid !== true) return [...states, outputOf(toolCallId, result, finished)];
  const refused = decided?.how === "edit" ? decided.input : undefined;
  const shown = { toolCallId, toolName, input: refused ?? inputOf(call), dynamic: true } as const;
  return [...states, { type: "tool-input-error", ...shown, errorText: result.text }];
}

/** What the log has of the end of the call; results that were appended have none. */
function outputOf(toolCallId: string, result: Block, finished: CallState["finished"]): ToolState {
  const { outcome, json } = finished ?? {};
  if (outcome === "denied") return { type: "tool-output-denied", toolCallId };
  if (outcome !== undefined && outcome !== "ok")
    return { type: "tool-output-error", toolCallId, errorText: result.text };
  const said = result.payload["output"] ?? result.text;
  // A layer may have put a text in its place.
  const output = json === true && typeof said === "string" ? (jsonOf(said) ?? said) : said;
  return { type: "tool-output-available", toolCallId, output };
}

/** The arguments of a call, or their text if they are not JSON. */
function inputOf(call: Pick<Block, "arguments">): JsonValue {
  try {
    return parseJson(call.arguments === "" ? "{}" : call.arguments);
  } catch {
    return call.arguments;
  }
}
