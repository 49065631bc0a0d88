import { isJsonObject, type JsonObject, type JsonValue, objectsOf, textOrEmpty, textOrNull } from "../../base/json.ts";
import type { ToolState, WholeChunk } from "./ui-chunk.ts";
import type { UiPart, UiStep } from "./ui-steps.ts";

/**
 * The steps that a page shows of a message, by its own parts. They only decide what is sent to that page: what it says of them that is not so
 * harms nobody else.
 */
export function knownSteps(parts: JsonValue | undefined): readonly UiStep[] {
  const steps: UiPart[][] = [];
  for (const part of objectsOf(parts)) {
    if (part["type"] === "step-start") steps.push([]);
    else steps.at(-1)?.push(...knownPart(part));
  }
  return steps;
}

function knownPart(part: JsonObject): readonly UiPart[] {
  const { type } = part;
  if (type === "text" || type === "reasoning") return [{ kind: type, text: textOrEmpty(part["text"]), isOpen: false }];
  if (type === "dynamic-tool") {
    const [id, name] = [textOrEmpty(part["toolCallId"]), textOrEmpty(part["toolName"])];
    return [{ kind: "tool", id, name, arriving: null, states: knownStates(part, id, name) }];
  }
  const chunk = knownWhole(part);
  return chunk === null ? [] : [{ kind: "whole", chunk }];
}

function knownStates(part: JsonObject, toolCallId: string, toolName: string): readonly ToolState[] {
  const { state, input = null, output = null, approval } = part;
  const states: ToolState[] = [{ type: "tool-input-available", toolCallId, toolName, input, dynamic: true }];
  if (isJsonObject(approval)) {
    const approvalId = textOrEmpty(approval["id"]);
    const asked = textOrNull(approval["requestReason"]);
    states.push({
      type: "tool-approval-request",
      approvalId,
      toolCallId,
      ...(asked === null ? {} : { reason: asked }),
    });
    const { approved } = approval;
    const said = textOrNull(approval["reason"]);
    if (typeof approved === "boolean")
      states.push({ type: "tool-approval-response", approvalId, approved, ...(said === null ? {} : { reason: said }) });
  }
  if (state === "output-available") states.push({ type: "tool-output-available", toolCallId, output });
  if (state === "output-denied") states.push({ type: "tool-output-denied", toolCallId });
  if (state === "output-error")
    states.push({ type: "tool-output-error", toolCallId, errorText: textOrEmpty(part["errorText"]) });
  return states;
}

function knownWhole(part: JsonObject): WholeChunk | null {
  const [url, mediaType, title, sourceId, filename, kind] = [
    ...["url", "mediaType", "title", "sourceId", "filename", "kind"].map((name) => textOrNull(part[name])),
  ];
  const named = title == null ? {} : { title };
  switch (part["type"]) {
    case "file":
      return { type: "file", mediaType: mediaType ?? "", url: url ?? "" };
    case "source-url":
      return { type: "source-url", sourceId: sourceId ?? "", url: url ?? "", ...named };
    case "source-document": {
      const said = { sourceId: sourceId ?? "", mediaType: mediaType ?? "", title: title ?? "" };
      return { type: "source-document", ...said, ...(filename == null ? {} : { filename }) };
    }
    case "custom":
      return { type: "custom", kind: `turnlog.${(kind ?? "").replace(/^turnlog\./, "")}` };
    default:
      return null;
  }
}
