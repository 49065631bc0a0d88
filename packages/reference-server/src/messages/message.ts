import type { ScriptedAnswer } from "../answers.ts";
import { chunks } from "../frames.ts";
import { isArray, isObject, type Json, type JsonObject, objectsOf, parseJson, stringOf } from "../wire.ts";
import { signatureOf } from "./thoughts.ts";

/** The content blocks of scripted items. Throws if no model of the Messages API could produce them. */
export function contentOf(
  { output }: ScriptedAnswer,
  { seed, id }: { readonly seed: string; readonly id: string },
): readonly JsonObject[] {
  return output.flatMap(({ item }, index): readonly JsonObject[] => {
    switch (item["type"]) {
      case "reasoning": {
        const thinking = [...textsIn(item["summary"]), ...textsIn(item["content"])].join("\n\n");
        return [{ type: "thinking", thinking, signature: signatureOf(seed, { thinking, id: `${id}_${index}` }) }];
      }
      case "message":
        return textsIn(item["content"]).map((text) => ({ type: "text", text }));
      case "function_call": {
        const input = parseJson(stringOf(item["arguments"]) ?? "{}");
        const named = stringOf(item["call_id"]);
        return [
          {
            type: "tool_use",
            id: named ?? `toolu_${id}_${index}`,
            name: item["name"] ?? "",
            input: isObject(input) ? input : {},
          },
        ];
      }
      case "server_tool_use":
      case "web_search_tool_result":
      case "bash_code_execution_tool_result":
        return [item];
      default:
        throw new Error(`a model of the Messages API does not say ${stringOf(item["type"]) ?? "this"}`);
    }
  });
}

const textsIn = (parts: Json | undefined): readonly string[] =>
  (isArray(parts) ? objectsOf(parts) : []).flatMap((part) => stringOf(part["text"] ?? part["refusal"]) ?? []);

/** The events of a streamed message. */
export function eventsOf(message: JsonObject, deltaLength: number): readonly JsonObject[] {
  const { content, stop_reason, stop_sequence = null, usage = {}, container, ...rest } = message;
  const start = { ...rest, content: [], stop_reason: null, stop_sequence: null, usage };
  const last = { stop_reason: stop_reason ?? null, stop_sequence, ...(container === undefined ? {} : { container }) };
  return [
    { type: "message_start", message: start },
    { type: "ping" },
    ...objectsOf(content).flatMap((block, index) => blockEvents(block, index, deltaLength)),
    { type: "message_delta", delta: last, usage },
    { type: "message_stop" },
  ];
}

function blockEvents(block: JsonObject, index: number, length: number): readonly JsonObject[] {
  const delta = (given: JsonObject): JsonObject => ({ type: "content_block_delta", index, delta: given });
  const told = (content_block: JsonObject, deltas: readonly JsonObject[]): readonly JsonObject[] => [
    { type: "content_block_start", index, content_block },
    ...deltas.map(delta),
    { type: "content_block_stop", index },
  ];
  switch (block["type"]) {
    case "text":
      return told(
        { ...block, text: "" },
        pieces(block["text"], length).map((text) => ({ type: "text_delta", text })),
      );
    case "thinking":
      return told({ type: "thinking", thinking: "", signature: "" }, [
        ...pieces(block["thinking"], length).map((thinking) => ({ type: "thinking_delta", thinking })),
        { type: "signature_delta", signature: block["signature"] ?? "" },
      ]);
    case "tool_use": {
      const input = block["input"];
      const json = isObject(input) && Object.keys(input).length > 0 ? JSON.stringify(input) : "";
      const deltas = ["", ...pieces(json, length)].map((text) => ({ type: "input_json_delta", partial_json: text }));
      return told({ ...block, input: {} }, deltas);
    }
    default:
      return told(block, []);
  }
}

const pieces = (text: Json | undefined, length: number): readonly string[] => chunks(stringOf(text) ?? "", length);
