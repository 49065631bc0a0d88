import type { JsonValue } from "../../base/json.ts";
import type { Block } from "../../domain/block.ts";

/** A call, or an approval that is asked for, as far as pairing looks at it. */
export type CallFacts = {
  /** What its result names it by. */
  readonly key: string;
  readonly type: string;
  /** It may stay open: async calls and approvals (responses-api.md 2.7). */
  readonly mayStayOpen: boolean;
};

/** What answers what: the result types of each call type. A result of type `function` may answer any call. */
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

/** A block as a call that wants a result; null for everything else. Hosted calls are complete in themselves. */
export function callFacts(block: Block): CallFacts | null {
  const { type, kind } = block;
  if (kind === "tool_result" || !resultTypeByCallType.has(type) || isServersSearch(block)) return null;
  if (type === "mcp_approval_request") {
    const id = block.wire?.itemId ?? text(block.payload["id"]);
    return id === null ? null : { key: id, type, mayStayOpen: true };
  }
  return block.callId === null ? null : { key: block.callId, type, mayStayOpen: block.payload["async"] === true };
}

/** Whether a block answers calls. */
export const isResult = (block: Block): boolean => block.kind === "tool_result" && !isServersSearch(block);

/** Whether this result can answer that call. A result without call id answers any call: the caller looks for the only one. */
export function answers(result: Block, call: CallFacts): boolean {
  const type = result.type;
  if (type !== "function" && type !== resultTypeByCallType.get(call.type)) return false;
  const key = resultKey(result);
  return key === null ? type === "function" : key === call.key;
}

/** What a result names its call by; null where it leaves it out. */
export function resultKey(result: Block): string | null {
  const { payload, type } = result;
  if (type === "mcp_approval_response") return text(payload["approval_request_id"]);
  if (type === "local_shell_call_output") return result.callId ?? text(payload["id"]);
  return result.callId;
}

/** A tool search is the client's to answer only where it says so (responses-api.md 1.2). */
function isServersSearch({ type, payload }: Block): boolean {
  return type.startsWith("tool_search_") && payload["execution"] !== "client";
}

const text = (value: JsonValue | undefined): string | null => (typeof value === "string" ? value : null);
