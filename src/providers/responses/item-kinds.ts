import type { JsonObject } from "../../base/json.ts";
import type { BlockKind } from "../../domain/block.ts";
import type { SaidCall } from "../answers/server-said.ts";
import { type OwnNames, ownNames } from "./own-names.ts";

/**
 * The block kind of an item of the Responses API, by its type and role (OpenAI's API reference). The union is open: an unknown item is
 * `other`, and kept verbatim.
 */
export function kindOfItem(item: JsonObject): BlockKind {
  const { type, role } = item;
  if (type === "message" || ((type === undefined || type === null) && role !== undefined)) return kindOfMessage(role);
  if (typeof type !== "string") return "other";
  if (type === "reasoning") return "reasoning";
  if (type.startsWith("tool_search_")) return kindOfToolSearch(item);
  if (callTypes.has(type)) return "tool_call";
  return resultTypes.has(type) ? "tool_result" : "other";
}

/** The function or custom tool call in an item; null for any other item. */
export function callIn({ type, name, arguments: given, input }: JsonObject): SaidCall | null {
  if (type === "function_call") return { name, arguments: given };
  return type === "custom_tool_call" ? { name, arguments: input, isCustom: true } : null;
}

/** The names that blocks of calls and results use for their types; other types keep the provider's name. */
const ownTypes: ReadonlyMap<string, OwnNames> = new Map([
  ["tool_call", ownNames({ function_call: "function", custom_tool_call: "custom" })],
  ["tool_result", ownNames({ function_call_output: "function", custom_tool_call_output: "custom" })],
]);

/** The names of item types in blocks of a kind. */
export const typesOf = (kind: string): OwnNames => ownTypes.get(kind) ?? verbatim;

/** The names of an item's members in blocks of a kind. */
export function membersOf(kind: string, type: string): OwnNames {
  if (type === "custom_tool_call") return membersOfFreeCall;
  return kind === "tool_call" || kind === "tool_result" ? membersOfPair : verbatim;
}

const verbatim = ownNames({});
const membersOfPair = ownNames({ call_id: "callId" });
const membersOfFreeCall = ownNames({ call_id: "callId", input: "arguments" });

/** The item types whose `status` the API requires in an input item (openai 7.57.0, `ResponseInputItem`). */
export const statusRequired: ReadonlySet<string> = new Set([
  "apply_patch_call",
  "code_interpreter_call",
  "computer_call",
  "file_search_call",
  "image_generation_call",
  "local_shell_call",
  "program_output",
  "web_search_call",
]);

/** The item types that a request cannot send without their provider id (openai 7.57.0, `ResponseInputItem`). */
export const idRequired: ReadonlySet<string> = new Set([
  "code_interpreter_call",
  "computer_call",
  "file_search_call",
  "image_generation_call",
  "item_reference",
  "local_shell_call",
  "mcp_approval_request",
  "mcp_call",
  "mcp_list_tools",
  "program",
  "program_output",
  "web_search_call",
]);

const callTypes: ReadonlySet<string> = new Set([
  "apply_patch_call",
  "computer_call",
  "custom_tool_call",
  "function_call",
  "local_shell_call",
  "program",
  "shell_call",
]);

const resultTypes: ReadonlySet<string> = new Set([
  "apply_patch_call_output",
  "computer_call_output",
  "custom_tool_call_output",
  "function_call_output",
  "local_shell_call_output",
  "mcp_approval_response",
  "program_output",
  "shell_call_output",
]);

function kindOfMessage(role: JsonObject[string]): BlockKind {
  if (role === "user" || role === "assistant") return role;
  return role === "system" || role === "developer" ? "system" : "other";
}

/** A search that the server ran is a hosted item; without `execution` the client has to run it. */
function kindOfToolSearch({ type, execution }: JsonObject): BlockKind {
  if (execution === "server") return "other";
  if (type === "tool_search_call") return "tool_call";
  return type === "tool_search_output" ? "tool_result" : "other";
}
