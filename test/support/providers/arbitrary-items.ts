import fc from "fast-check";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../src/base/json.ts";
import { jsonObject, jsonValue, parsed } from "../base/arbitrary-json.ts";

const maybe = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | undefined | null> =>
  fc.oneof({ arbitrary: value, weight: 3 }, fc.constantFrom(undefined, null));
const text = fc.string({ unit: "binary", maxLength: 8 });

const part: fc.Arbitrary<JsonValue> = fc.oneof(
  fc.record({
    type: fc.constantFrom("input_text", "output_text", "text", "refusal", "summary_text"),
    text: maybe(text),
    annotations: fc.constantFrom<JsonValue | undefined>(undefined, null, [], [{ type: "url_citation" }]),
    logprobs: fc.constantFrom<JsonValue | undefined>(undefined, null, [], [{ token: "a" }]),
  }),
  fc.record({
    type: fc.constantFrom("input_image", "image", "input_file", "file", "input_audio", "audio"),
    image_url: maybe(text),
    file_id: maybe(text),
  }),
  jsonValue,
);

const bookkeeping = {
  id: maybe(fc.constantFrom("rs_1", "msg_1", "", "cmp_1")),
  status: maybe(fc.constantFrom<JsonValue>("completed", "incomplete", 7)),
  created_by: maybe(text),
  encrypted_content: maybe(text),
};

const message = fc.record({
  type: fc.constantFrom("message", undefined, null),
  role: fc.constantFrom("user", "assistant", "system", "developer", "tool", "critic"),
  content: fc.oneof(text, fc.array(part, { maxLength: 3 }), jsonValue),
  phase: maybe(fc.constantFrom("commentary", "final_answer")),
  name: maybe(text),
  ...bookkeeping,
});

const typed = fc.record({
  type: fc.constantFrom(
    ...["reasoning", "function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output"],
    ...["tool_search_call", "tool_search_output", "computer_call", "computer_call_output", "shell_call"],
    ...["local_shell_call", "local_shell_call_output", "apply_patch_call", "apply_patch_call_output", "program"],
    ...["program_output", "web_search_call", "mcp_call", "mcp_approval_request", "mcp_approval_response"],
    ...["compaction", "compaction_trigger", "additional_tools", "item_reference", "image_generation_call", "new_call"],
  ),
  execution: fc.constantFrom("server", "client", undefined),
  call_id: maybe(text),
  arguments: maybe(fc.oneof(text, jsonValue)),
  output: maybe(fc.oneof(text, fc.array(part, { maxLength: 3 }), jsonValue)),
  summary: maybe(fc.oneof(fc.constant([]), fc.array(part, { maxLength: 2 }))),
  content: maybe(fc.oneof(fc.constant([]), fc.array(part, { maxLength: 2 }))),
  ...bookkeeping,
});

/** Any item, as JSON.parse gives it: of known and unknown types, with unknown members, in any order. */
export const anyItem: fc.Arbitrary<JsonObject> = fc
  .tuple(fc.oneof(message, typed, jsonObject), jsonObject, fc.integer())
  .map(([item, others, seed]) => shuffled({ ...others, ...item }, seed));

function shuffled(item: JsonObject, seed: number): JsonObject {
  const members = Object.entries(item).filter(([, value]) => value !== undefined);
  const ranked = members.map((member, index) => ({ member, rank: Math.imul(seed ^ index, 0x9e3779b1) }));
  const texts = ranked
    .toSorted((left, right) => left.rank - right.rank)
    .map(({ member: [name, value] }) => `${JSON.stringify(name)}:${JSON.stringify(value)}`);
  const object = parsed(`{${texts.join(",")}}`);
  return isJsonObject(object) ? object : {};
}
