import { hashOf, reasoningKey } from "./ciphertext.ts";
import { sinceCompaction } from "./compacting.ts";
import { answeredBy, type Call, callOf, resultOf } from "./pairs.ts";
import { isArray, isObject, type Json, type JsonObject, objectsOf, sortedText, stringOf, typeOf } from "./wire.ts";

/** The settings that a model reads besides the items. */
export interface ReadingSettings {
  readonly instructions?: string | null;
  readonly tools?: readonly JsonObject[];
}

/** The fields of a line that are not "-". */
export interface LineFields {
  readonly role?: string;
  readonly kind: string;
  readonly phase?: string | undefined;
  readonly name?: string | undefined;
  /** The index of the call in the context, from 0; "?" for a result without a call. */
  readonly call?: number | "?" | undefined;
  /** The text or media; omitted for items without either. */
  readonly content?: string | undefined;
}

/** `role | kind | phase | name | call#n | content`: one line for each item that a model reads. */
export function lineOf(fields: LineFields): string {
  const call = fields.call === undefined ? "-" : `call#${fields.call}`;
  const cells = [fields.role, fields.kind, fields.phase, fields.name, call, fields.content];
  return cells.map((cell) => cell ?? "-").join(" | ");
}

/** What a model reads of these wire items with these settings: instructions first, then tools, then the items. */
export function readItems(items: readonly JsonObject[], settings: ReadingSettings = {}): readonly string[] {
  const instructions = settings.instructions ?? "";
  const lines = instructions === "" ? [] : [lineOf({ kind: "instructions", content: hashOf(instructions) })];
  lines.push(...(settings.tools ?? []).map((tool) => toolLine(tool, undefined)));
  const calls: Open = { open: [], ordinals: [], count: 0 };
  // A compaction item replaces all items before it: the model no longer reads them.
  for (const item of sinceCompaction(items)) lines.push(...readItem(item, calls));
  return lines;
}

/** Calls without a result, by position; both lists run in parallel. */
interface Open {
  readonly open: Call[];
  readonly ordinals: number[];
  count: number;
}

function readItem(item: JsonObject, calls: Open): readonly string[] {
  const type = typeOf(item);
  if (type === "message") return readMessage(item);
  const call = callOf(item);
  if (call !== undefined) return [readCall(item, call, calls)];
  if (resultOf(item) !== undefined) return readResult(item, calls);
  switch (type) {
    case "reasoning":
    case "compaction":
      return [lineOf({ role: "assistant", kind: type, content: reasoningKey(item) })];
    case "additional_tools":
      return objectsOf(item["tools"]).map((tool) => toolLine(tool, stringOf(item["role"])));
    case "configuration_update":
    case "compaction_trigger":
      return [lineOf({ kind: type, content: bodyHash(item) })];
    default:
      return [readHosted(item, type)];
  }
}

function toolLine(tool: JsonObject, role: string | undefined): string {
  const name = stringOf(tool["name"]) ?? stringOf(tool["type"]);
  return lineOf({ ...(role === undefined ? {} : { role }), kind: "tool", name, content: hashOf(sortedText(tool)) });
}

function readMessage(item: JsonObject): readonly string[] {
  const shared = { role: stringOf(item["role"]) ?? "?", phase: stringOf(item["phase"]) };
  const content = item["content"];
  if (typeof content === "string") return [lineOf({ ...shared, kind: "text", content: hashOf(content) })];
  const parts = objectsOf(content);
  if (parts.length === 0) return [lineOf({ ...shared, kind: "empty" })];
  return parts.map((part) => lineOf({ ...shared, ...readPart(part) }));
}

function readCall(item: JsonObject, call: Call, calls: Open): string {
  const ordinal = calls.count;
  calls.count += 1;
  calls.open.push(call);
  calls.ordinals.push(ordinal);
  const isText = call.type === "function_call" || call.type === "custom_tool_call";
  const text = stringOf(item[call.type === "function_call" ? "arguments" : "input"]) ?? "";
  const namespace = stringOf(item["namespace"]);
  const name = stringOf(item["name"]);
  return lineOf({
    role: "assistant",
    kind: call.type === "function_call" ? "call" : call.type,
    name: namespace === undefined ? name : `${namespace}.${name ?? ""}`,
    call: ordinal,
    content: isText ? hashOf(text) : bodyHash(item),
  });
}

function readResult(item: JsonObject, calls: Open): readonly string[] {
  const result = resultOf(item);
  const at = result === undefined ? -1 : answeredBy(result, calls.open);
  const [ordinal] = at < 0 ? [] : calls.ordinals.splice(at, 1);
  if (at >= 0) calls.open.splice(at, 1);
  const shared = { role: "tool", call: ordinal ?? ("?" as const) };
  const output = item["output"] ?? item["result"];
  if (typeof output === "string") return [lineOf({ ...shared, kind: "result", content: hashOf(output) })];
  if (!isArray(output)) return [lineOf({ ...shared, kind: "result", content: bodyHash(item) })];
  if (output.length === 0) return [lineOf({ ...shared, kind: "result-empty" })];
  return objectsOf(output).map((part) => {
    const read = readPart(part);
    return lineOf({ ...shared, ...read, kind: read.kind === "text" ? "result" : `result-${read.kind}` });
  });
}

// A hosted item is identified by its id: its other members depend on what the client asked to include.
function readHosted(item: JsonObject, type: string): string {
  const id = stringOf(item["id"]);
  const content = id === undefined ? bodyHash(item) : `id:${id}`;
  return lineOf({ role: "assistant", kind: type, name: stringOf(item["name"]), content });
}

function readPart(part: JsonObject): { kind: string; name?: string | undefined; content?: string } {
  const media = (...keys: readonly string[]): string =>
    hashOf(keys.map((key) => stringOf(part[key])).find((value) => value !== undefined) ?? "");
  switch (part["type"]) {
    case "input_text":
    case "output_text":
    case "text":
      return { kind: "text", content: media("text") };
    case "refusal":
      return { kind: "refusal", content: media("refusal") };
    case "input_image":
      return { kind: "image", name: detailOf(part), content: media("image_url", "file_id") };
    case "input_file":
      return { kind: "file", name: stringOf(part["filename"]), content: media("file_data", "file_url", "file_id") };
    case "input_audio":
      return { kind: "audio", content: hashOf(sortedText(part["input_audio"] ?? part)) };
    default:
      return { kind: stringOf(part["type"]) ?? "part", content: hashOf(sortedText(part)) };
  }
}

// "auto" is the server's default.
function detailOf(part: JsonObject): string | undefined {
  const detail = stringOf(part["detail"]);
  return detail === "auto" ? undefined : detail;
}

const unread = new Set(["id", "call_id", "status", "created_by", "type", "approval_request_id"]);

function bodyHash(item: JsonObject): string {
  const read = Object.entries(item).filter(([key, value]) => !unread.has(key) && !isBlank(value));
  return hashOf(sortedText(Object.fromEntries(read)));
}

function isBlank(value: Json): boolean {
  return (
    value === null || (isArray(value) && value.length === 0) || (isObject(value) && Object.keys(value).length === 0)
  );
}

/** The tools of a request that has its functions under `function`, in the form of the Responses API. */
export const functionsOf = (body: JsonObject): readonly JsonObject[] =>
  objectsOf(body["tools"]).map(({ function: called, ...tool }) => ({ ...tool, ...objectsOf([called ?? null])[0] }));
