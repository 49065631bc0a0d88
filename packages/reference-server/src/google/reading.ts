import type { Reading } from "../options.ts";
import { isObject, type Json, type JsonObject, objectsOf, stringOf } from "../wire.ts";
import { partsOf } from "./request.ts";

/** What a model reads of a request: its parts, as items of the Responses API. */
export function readingOf(body: JsonObject): Reading {
  const [instructions] = objectsOf([body["systemInstruction"] ?? null]);
  const said = instructions === undefined ? [] : partsOf(instructions).map((part) => message("system", part));
  const ids = createIds();
  return {
    items: [
      ...said,
      ...objectsOf(body["contents"]).flatMap((content) =>
        partsOf(content)
          .filter(isRead)
          .map((part) => itemOf(part, { isModels: content["role"] === "model", ids })),
      ),
    ],
    // They come before the contents, part by part.
    instructions: null,
    tools: objectsOf(body["tools"]).flatMap(toolsIn),
  };
}

/** An empty text only carries a signature, or nothing. */
const isRead = ({ text }: JsonObject): boolean => text !== "";

function toolsIn({ functionDeclarations: declared = null, ...others }: JsonObject): readonly JsonObject[] {
  const functions = objectsOf(declared).map(({ parametersJsonSchema, ...tool }) => ({
    ...tool,
    ...(parametersJsonSchema === undefined ? {} : { parameters: parametersJsonSchema }),
  }));
  return [...functions, ...Object.entries(others).map(([type, value]) => ({ type, value }))];
}

interface Ids {
  called(id: Json, name: string): string;
  answered(id: Json, name: string): string;
}

/** Calls without an id are answered by name, in order. */
function createIds(): Ids {
  let open: { readonly id: string; readonly name: string }[] = [];
  let made = 0;
  return {
    called(given, name) {
      made += 1;
      const id = stringOf(given) ?? `unnamed ${made}`;
      open.push({ id, name });
      return id;
    },
    answered(given, name) {
      const found = open.find((call) => (given === null ? call.name === name : call.id === given));
      open = open.filter((call) => call !== found);
      return found?.id ?? "";
    },
  };
}

function itemOf(part: JsonObject, { isModels, ids }: { readonly isModels: boolean; readonly ids: Ids }): JsonObject {
  const { text, thought, functionCall: call = null, functionResponse: result = null } = part;
  if (isObject(call)) {
    const { id = null, name = "", args = {} } = call;
    const callId = ids.called(id, stringOf(name) ?? "");
    return { type: "function_call", call_id: callId, name, arguments: JSON.stringify(args) };
  }
  if (isObject(result)) {
    const { id = null, name = "" } = result;
    return { type: "function_call_output", call_id: ids.answered(id, stringOf(name) ?? ""), output: outputOf(result) };
  }
  if (typeof text === "string" && thought === true)
    return { type: "reasoning", summary: [{ type: "summary_text", text }] };
  if (typeof text === "string" || part["inlineData"] !== undefined || part["fileData"] !== undefined)
    return message(isModels ? "assistant" : "user", part);
  const [type = ""] = Object.keys(part).filter((name) => name !== "thoughtSignature");
  return { type, ...objectsOf([part[type] ?? null])[0] };
}

const message = (role: string, part: JsonObject): JsonObject => ({ type: "message", role, content: [partOf(part)] });

/** A text under `output` is the output; otherwise the whole object is. */
function outputOf({ response = {}, parts = null }: JsonObject): Json {
  const { output, ...others } = isObject(response) ? response : {};
  const isText = typeof output === "string" && Object.keys(others).length === 0;
  const text = isText ? output : JSON.stringify(response);
  const media = objectsOf(parts).map(partOf);
  if (media.length === 0) return text;
  return text === "{}" ? media : [{ type: "input_text", text }, ...media];
}

function partOf({ text, inlineData: inline = null, fileData: file = null }: JsonObject): JsonObject {
  if (isObject(file)) {
    const { fileUri = "", mimeType = "" } = file;
    const isImage = stringOf(mimeType)?.startsWith("image/") === true;
    return isImage ? { type: "input_image", image_url: fileUri } : { type: "input_file", file_url: fileUri };
  }
  if (!isObject(inline)) return { type: "text", text: text ?? "" };
  const [mimeType, data] = [stringOf(inline["mimeType"]) ?? "", stringOf(inline["data"]) ?? ""];
  const [family = "", format = ""] = mimeType.split("/");
  if (family === "audio") return { type: "input_audio", input_audio: { data, format } };
  const url = `data:${mimeType};base64,${data}`;
  return family === "image" ? { type: "input_image", image_url: url } : { type: "input_file", file_data: url };
}
