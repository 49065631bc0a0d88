import { textOrNull } from "../../base/json.ts";
import type { Block } from "../../domain/block.ts";
import type { Call, CallPairs } from "../../engine/ports/codec.ts";

/** Which results answer which calls in the Responses API (OpenAI's API reference). Hosted calls need no result. */
export const responsesPairs: CallPairs = { callOf, isResult, keyOf, answers };

/** The result type of each call type. A result of type `function` may answer any call. */
const resultTypeByCallType: ReadonlyMap<string, string> = new Map([
  ["function", "function"],
  ["custom", "custom"],
  ["tool_search_call", "tool_search_output"],
  ["computer_call", "computer_call_output"],
  ["shell_call", "shell_call_output"],
  ["local_shell_call", "local_shell_call_output"],
  ["apply_patch_call", "apply_patch_call_output"],
  ["program", "program_output"],
  ["mcp_approval_request", "mcp_approval_response"],
]);

/** Async calls and approvals may stay open. */
function callOf(block: Block): Call | null {
  const { type, kind } = block;
  if (kind === "tool_result" || !resultTypeByCallType.has(type) || isServersSearch(block)) return null;
  if (type === "mcp_approval_request") {
    const id = block.wire?.itemId ?? textOrNull(block.payload["id"]);
    return id === null ? null : { key: id, type, mayStayOpen: true };
  }
  return block.callId === null ? null : { key: block.callId, type, mayStayOpen: block.payload["async"] === true };
}

function isResult(block: Block): boolean {
  return block.kind === "tool_result" && !isServersSearch(block);
}

function answers(result: Block, call: Call): boolean {
  const { type } = result;
  if (type !== "function" && type !== resultTypeByCallType.get(call.type)) return false;
  const key = keyOf(result);
  return key === null ? type === "function" : key === call.key;
}

function keyOf(result: Block): string | null {
  const { payload, type } = result;
  if (type === "mcp_approval_response") return textOrNull(payload["approval_request_id"]);
  if (type === "local_shell_call_output") return result.callId ?? textOrNull(payload["id"]);
  return result.callId;
}

/** The client answers a tool search only if its item says so (OpenAI's guide to tool search). */
function isServersSearch({ type, payload }: Block): boolean {
  return type.startsWith("tool_search_") && payload["execution"] !== "client";
}
