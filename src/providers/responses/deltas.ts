import { isJsonObject, type JsonObject, type JsonValue, listOf } from "../../base/json.ts";
import type { ItemStart, StreamDelta } from "../../engine/ports/provider.ts";
import { callStart } from "../answers/call-start.ts";

/** The readable text of a complete item as stream deltas, one for each text. */
export function deltasOf(item: JsonObject, outputIndex: number): readonly StreamDelta[] {
  switch (item["type"]) {
    case "message":
      return texts(item["content"]).map((text) => ({ type: "text-delta", outputIndex, text }));
    case "reasoning": {
      const spoken = [...texts(item["summary"]), ...texts(item["content"])];
      return spoken.map((text) => ({ type: "reasoning-delta", outputIndex, text }));
    }
    default: {
      const text = item["arguments"] ?? item["input"];
      const said =
        typeof text === "string" && text !== "" ? [{ type: "tool-call-delta", outputIndex, text } as const] : [];
      return [...startOf(item, outputIndex), ...said];
    }
  }
}

/** The beginning of an item that is a call; empty for other items. */
export const startOf = ({ type, call_id: callId, name }: JsonObject, outputIndex: number): readonly ItemStart[] =>
  typeof type === "string" && calls.has(type) ? [callStart(outputIndex, { callId, name })] : [];

const calls: ReadonlySet<string> = new Set(["function_call", "custom_tool_call", "mcp_call"]);

function texts(parts: JsonValue | undefined): readonly string[] {
  return listOf(parts).flatMap((part) => {
    const text = isJsonObject(part) ? (part["text"] ?? part["refusal"]) : undefined;
    return typeof text === "string" && text !== "" ? [text] : [];
  });
}
