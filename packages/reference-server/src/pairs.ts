import { type JsonObject, stringOf, typeOf } from "./wire.ts";

/** A kind of call that the client answers, and the item that answers it. */
interface Family {
  readonly call: string;
  readonly result: string;
  /** Its name in error messages. */
  readonly label: string;
}

const families: readonly Family[] = [
  { call: "function_call", result: "function_call_output", label: "function call" },
  { call: "custom_tool_call", result: "custom_tool_call_output", label: "custom tool call" },
  { call: "tool_search_call", result: "tool_search_output", label: "tool search call" },
  { call: "computer_call", result: "computer_call_output", label: "computer call" },
  { call: "shell_call", result: "shell_call_output", label: "shell call" },
  { call: "local_shell_call", result: "local_shell_call_output", label: "local shell call" },
  { call: "apply_patch_call", result: "apply_patch_call_output", label: "apply patch call" },
  { call: "program", result: "program_output", label: "program" },
  { call: "mcp_approval_request", result: "mcp_approval_response", label: "mcp approval request" },
];

const familyByCall = new Map(families.map((family) => [family.call, family]));
const familyByResult = new Map(families.map((family) => [family.result, family]));

/** A call without a result. */
export interface Call {
  readonly callId: string;
  readonly type: string;
  readonly label: string;
  /** Need not be answered by the next request: declared async, or an approval that was not given yet. */
  readonly isOptional: boolean;
}

/** A result of a call. `callId` is absent if the client omitted it. */
export interface CallResult {
  readonly callId: string | undefined;
  readonly type: string;
  readonly label: string;
}

/** Undefined for items that the client does not answer: hosted calls are complete in themselves. */
export function callOf(item: JsonObject): Call | undefined {
  const family = familyByCall.get(typeOf(item));
  if (family === undefined || isServersOwn(item)) return undefined;
  const isApproval = family.call === "mcp_approval_request";
  const callId = stringOf(isApproval ? item["id"] : item["call_id"]) ?? "";
  return { callId, type: family.call, label: family.label, isOptional: isApproval || item["async"] === true };
}

export function resultOf(item: JsonObject): CallResult | undefined {
  const family = familyByResult.get(typeOf(item));
  if (family === undefined || isServersOwn(item)) return undefined;
  return { callId: resultCallId(item), type: family.result, label: `${family.label} output` };
}

/**
 * The index in `open` of the call that a result answers: the nearest earlier unanswered one with its id; -1 if there is
 * none. Ids may repeat in a conversation (48 of 695 recorded calls do), so the position decides.
 */
export function answeredBy(result: CallResult, open: readonly Call[]): number {
  if (result.callId === undefined) return open.length === 1 ? 0 : -1;
  const family = familyByResult.get(result.type);
  return open.findLastIndex(
    (call) => call.callId === result.callId && (result.type === "function_call_output" || call.type === family?.call),
  );
}

// A tool search belongs to the client only if it says so; a hosted one has a null call id.
function isServersOwn(item: JsonObject): boolean {
  return typeOf(item).startsWith("tool_search") && item["execution"] !== "client";
}

function resultCallId(item: JsonObject): string | undefined {
  const type = typeOf(item);
  if (type === "mcp_approval_response") return stringOf(item["approval_request_id"]);
  if (type === "local_shell_call_output") return stringOf(item["call_id"]) ?? stringOf(item["id"]);
  return stringOf(item["call_id"]);
}
