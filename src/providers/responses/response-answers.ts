import { isJsonList, type JsonObject, objectsOf } from "../../base/json.ts";
import type { StreamDelta } from "../../engine/ports/provider.ts";
import type { AnswerForm } from "../answers/answer-form.ts";
import { deltasOf } from "./deltas.ts";

const itemsOf = ({ output }: JsonObject): readonly JsonObject[] => objectsOf(output);

/** Passes on an answer that came whole, item by item. */
export function tellItems(response: JsonObject, onDelta: (delta: StreamDelta) => void): void {
  for (const [index, item] of itemsOf(response).entries()) {
    for (const delta of deltasOf(item, index)) onDelta(delta);
    onDelta({ type: "item-done", outputIndex: index, item });
  }
}

/** The response resource of the Responses API. */
export const responseForm: AnswerForm = {
  isAnswer: ({ output }) => isJsonList(output),
  itemsOf,
  // A response without a status may still have failed.
  hasFailed: ({ status, error }) => status === "failed" || (typeof status !== "string" && (error ?? null) !== null),
  tell: tellItems,
};
