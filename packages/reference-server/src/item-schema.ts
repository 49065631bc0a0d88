import {
  invalidType,
  invalidValue,
  missingParameter,
  type Refusal,
  triggerNotLast,
  unknownParameter,
} from "./refusals.ts";
import { isArray, isObject, type Json, type JsonObject, typeOf } from "./wire.ts";

/**
 * Members of each kind of input item; `*` marks required ones. From the input item types of openai 7.57.0. `agent_message` and the
 * `multi_agent_*` pair are in the service's own list of accepted types (live, 2026-08-30); their members are not checked.
 */
const members: Readonly<Record<string, string | null>> = {
  message: "*content *role id phase status",
  file_search_call: "*id *queries status results",
  computer_call: "id *call_id pending_safety_checks status action actions",
  computer_call_output: "*call_id *output id acknowledged_safety_checks status",
  web_search_call: "*id action status",
  function_call: "*arguments *call_id *name id async caller namespace status",
  function_call_output: "*output call_id id caller name namespace status",
  tool_search_call: "*arguments id call_id execution status",
  tool_search_output: "*tools id call_id execution status",
  additional_tools: "*role *tools id",
  configuration_update: "id reasoning text",
  reasoning: "*summary id content encrypted_content status",
  compaction: "*encrypted_content id",
  compaction_trigger: "id",
  item_reference: "*id",
  image_generation_call: "*id result status action background output_format quality revised_prompt size",
  code_interpreter_call: "*id code *container_id outputs status",
  local_shell_call: "*id *action *call_id status",
  local_shell_call_output: "*output id call_id status",
  shell_call: "*action *call_id id caller environment status",
  shell_call_output: "*call_id *output id caller max_output_length status",
  apply_patch_call: "*call_id *operation id caller status",
  apply_patch_call_output: "*call_id *status id caller output",
  mcp_list_tools: "*id *server_label *tools error",
  mcp_approval_request: "*id *arguments *name *server_label",
  mcp_approval_response: "*approval_request_id *approve id reason",
  mcp_call: "*id *arguments *name *server_label approval_request_id error output status",
  custom_tool_call: "*call_id *input *name id async caller namespace status",
  custom_tool_call_output: "*call_id *output id caller status",
  program: "id *call_id *code *fingerprint",
  program_output: "id *call_id *result *status",
  agent_message: null,
  multi_agent_call: null,
  multi_agent_call_output: null,
};

const allowedByType = new Map(
  Object.entries(members).map(([type, text]) => [type, text?.split(" ").map((name) => name.replace("*", ""))]),
);
/** The types that the service lists in its error for an unknown one. */
export const itemTypes: readonly string[] = Object.keys(members).toSorted();
const requiredByType = new Map(
  Object.entries(members).map(([type, text]) => [
    type,
    (text ?? "").split(" ").flatMap((name) => (name.startsWith("*") ? [name.slice(1)] : [])),
  ]),
);

const roles = ["assistant", "system", "developer", "user"];
const statuses = ["in_progress", "completed", "incomplete"];
const inputParts = ["input_text", "input_image", "input_file", "input_audio"];
const assistantParts = ["output_text", "refusal"];
const partMembers = new Map(
  Object.entries({
    input_text: "type text prompt_cache_breakpoint",
    input_image: "type detail image_url file_id prompt_cache_breakpoint",
    input_file: "type file_data file_id file_url filename detail prompt_cache_breakpoint",
    input_audio: "type input_audio prompt_cache_breakpoint",
    output_text: "type text annotations logprobs",
    refusal: "type refusal",
  }).map(([type, text]) => [type, text.split(" ")]),
);
/** Members that must be strings if present: a null id or call id gets a 400; other optional members may be null. */
const strings = ["id", "name", "arguments", "input", "role", "type"];

/** The first error in the shape of the input items, in input order. */
export function checkItems(input: readonly Json[]): Refusal | undefined {
  for (const [index, item] of input.entries()) {
    const path = `input[${index}]`;
    if (!isObject(item)) return invalidType(path, "an object", nameOfType(item));
    const wrong = checkItem(item, path);
    if (wrong !== undefined) return wrong;
    if (typeOf(item) === "compaction_trigger" && index < input.length - 1) return triggerNotLast(path);
  }
  return undefined;
}

/** The type of a value, in the words of error messages. */
export function nameOfType(value: Json | undefined): string {
  if (value === null || value === undefined) return "null";
  if (isArray(value)) return "an array";
  if (typeof value === "object") return "an object";
  if (typeof value === "number") return Number.isInteger(value) ? "an integer" : "a decimal";
  return `a ${typeof value}`;
}

function checkItem(item: JsonObject, path: string): Refusal | undefined {
  const type = typeOf(item);
  if (!allowedByType.has(type)) return invalidValue(path, type, itemTypes);
  const allowed = allowedByType.get(type);
  if (allowed === undefined) return undefined;
  const unknown = Object.keys(item).find((key) => key !== "type" && !allowed.includes(key));
  if (unknown !== undefined) return unknownParameter(`${path}.${unknown}`);
  const missing = requiredByType.get(type)?.find((key) => item[key] === undefined);
  if (missing !== undefined) return missingParameter(`${path}.${missing}`);
  return checkStrings(item, path) ?? checkStatus(item, path) ?? checkKind(item, { type, path });
}

function checkStrings(item: JsonObject, path: string): Refusal | undefined {
  const isItemReference = typeOf(item) === "item_reference";
  const wrong = strings.find((key) => {
    const value = item[key];
    if (value === undefined || typeof value === "string") return false;
    // The arguments of a tool search are an object; the type of a reference may be null.
    return !(key === "arguments" && typeOf(item) === "tool_search_call") && !(key === "type" && isItemReference);
  });
  if (wrong !== undefined) return invalidType(`${path}.${wrong}`, "a string", nameOfType(item[wrong]));
  const callId = item["call_id"];
  const mayBeNull = typeOf(item).startsWith("tool_search");
  if (callId === undefined || typeof callId === "string" || (callId === null && mayBeNull)) return undefined;
  return invalidType(`${path}.call_id`, "a string", nameOfType(callId));
}

function checkStatus(item: JsonObject, path: string): Refusal | undefined {
  const status = item["status"];
  const type = typeOf(item);
  const isInPairOnly = type !== "message" && !type.startsWith("function_call");
  // A null status was accepted in a recorded request.
  if (status === undefined || status === null || isInPairOnly) return undefined;
  if (typeof status !== "string") return invalidType(`${path}.status`, "a string", nameOfType(status));
  return statuses.includes(status) ? undefined : invalidValue(`${path}.status`, status, statuses);
}

function checkKind(item: JsonObject, at: { readonly type: string; readonly path: string }): Refusal | undefined {
  switch (at.type) {
    case "message":
      return checkMessage(item, at.path);
    case "function_call_output":
    case "custom_tool_call_output":
      return checkParts(item["output"], { path: `${at.path}.output`, supported: inputParts });
    case "reasoning":
      if (isArray(item["summary"])) return undefined;
      return invalidType(`${at.path}.summary`, "an array of objects", nameOfType(item["summary"]));
    default:
      return undefined;
  }
}

function checkMessage(item: JsonObject, path: string): Refusal | undefined {
  const role = item["role"];
  if (typeof role !== "string") return invalidType(`${path}.role`, "a string", nameOfType(role));
  if (!roles.includes(role)) return invalidValue(`${path}.role`, role, roles);
  const isAssistant = role === "assistant";
  const phase = item["phase"];
  // Measured live: `phase` on a user item is an unknown parameter.
  if (phase !== undefined && !isAssistant) return unknownParameter(`${path}.phase`);
  if (typeof phase === "string" && !["commentary", "final_answer"].includes(phase)) {
    return invalidValue(`${path}.phase`, phase, ["commentary", "final_answer"]);
  }
  const supported = isAssistant ? assistantParts : inputParts;
  return checkParts(item["content"], { path: `${path}.content`, supported });
}

function checkParts(
  content: Json | undefined,
  at: { readonly path: string; readonly supported: readonly string[] },
): Refusal | undefined {
  if (typeof content === "string") return undefined;
  if (!isArray(content)) return invalidType(at.path, "one of an array of objects or string", nameOfType(content));
  for (const [index, part] of content.entries()) {
    const path = `${at.path}[${index}]`;
    if (!isObject(part)) return invalidType(path, "an object", nameOfType(part));
    const type = part["type"];
    if (typeof type !== "string") return missingParameter(`${path}.type`);
    if (!at.supported.includes(type)) return invalidValue(path, type, at.supported);
    const unknown = Object.keys(part).find((key) => partMembers.get(type)?.includes(key) === false);
    if (unknown !== undefined) return unknownParameter(`${path}.${unknown}`);
    const text = type === "refusal" ? "refusal" : "text";
    const needsText = type.endsWith("text") || type === "refusal";
    if (needsText && typeof part[text] !== "string") return missingParameter(`${path}.${text}`);
  }
  return undefined;
}
