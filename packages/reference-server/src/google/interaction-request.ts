import type { Refusal } from "../refusals.ts";
import { isArray, isObject, type Json, type JsonObject, objectsOf, stringOf } from "../wire.ts";
import * as refuse from "./interaction-refusals.ts";

const fields = new Set(
  [
    "model input previous_interaction_id system_instruction tools generation_config response_format safety_settings",
    "labels service_tier store stream background",
  ].flatMap((line) => line.split(" ")),
);

/** What is wrong with a request before its context is looked up. */
export function checkInteraction(
  body: JsonObject,
  { models }: { readonly models: readonly string[] | undefined },
): Refusal | undefined {
  const unknown = Object.keys(body).find((name) => !fields.has(name));
  if (unknown !== undefined) return refuse.unknownName(unknown);
  const model = stringOf(body["model"]) ?? "";
  if (models?.includes(model) === false) return refuse.unknownModel(model);
  const isText = ["string", "undefined"].includes(typeof body["system_instruction"]);
  const input = stepsIn(body["input"]);
  return isText && input.length > 0 && input.every(isStep) ? undefined : refuse.badInput();
}

/** A text, or contents, are a message of the user. */
export function stepsIn(input: Json | undefined): readonly JsonObject[] {
  if (typeof input === "string") return [{ type: "user_input", content: [{ type: "text", text: input }] }];
  if (isObject(input)) return [{ type: "user_input", content: [input] }];
  const all = objectsOf(input);
  return all.every(isContent) && all.length > 0 ? [{ type: "user_input", content: all }] : all;
}

const contents = new Set(["text", "image", "audio", "document", "video"]);
const isContent = ({ type }: JsonObject): boolean => typeof type === "string" && contents.has(type);

function isStep(step: JsonObject): boolean {
  const { type, content, id, name, call_id: callId, result } = step;
  const isText = (value: Json | undefined): boolean => typeof value === "string" && value !== "";
  switch (type) {
    case "user_input":
    case "model_output":
      return isArray(content) && content.length > 0 && content.every((part) => isObject(part) && isSaid(part));
    case "function_call":
      return isText(id) && isText(name) && isObject(step["arguments"]);
    case "function_result":
      // The name is optional in the reference documentation, but the server requires it.
      return isText(callId) && isText(name) && result !== undefined;
    default:
      return isText(type);
  }
}

const isSaid = (part: JsonObject): boolean =>
  isContent(part) && (part["type"] === "text" ? isNotEmpty(part["text"]) : isNotEmpty(part["data"] ?? part["uri"]));
const isNotEmpty = (value: Json | undefined): boolean => typeof value === "string" && value !== "";

/** What is wrong with the context as a whole: foreign signatures, and results that do not follow their calls. */
export function checkSteps(
  steps: readonly JsonObject[],
  isAuthentic: (signature: string) => boolean,
): Refusal | undefined {
  const signatures = steps.flatMap(({ signature }) => stringOf(signature) ?? []);
  if (!signatures.every(isAuthentic)) return refuse.badSignature();
  let open: readonly JsonObject[] = [];
  let isAnswering = false;
  for (const step of steps) {
    const { type, call_id: callId, name } = step;
    if (type === "function_result") {
      const call = open.find((each) => each["id"] === callId && each["name"] === name);
      if (call === undefined) return refuse.resultOutOfPlace(stringOf(name) ?? "");
      open = open.filter((each) => each !== call);
      isAnswering = true;
      continue;
    }
    if (open.length > 0 && (isAnswering || type === "user_input")) return refuse.unequalResults();
    isAnswering = false;
    if (type === "function_call") open = [...open, step];
  }
  return open.length > 0 ? refuse.unequalResults() : undefined;
}
