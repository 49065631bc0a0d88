import {
  isJsonList,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  jsonOf,
  objectOf,
  omitMembers,
  textOrEmpty,
} from "../../base/json.ts";

/** The recorded options of a call; addresses of files become objects, as models expect. */
export function callOptions(bodyText: string, version: string): Readonly<Record<string, unknown>> {
  // The recorded text may have numbers that JavaScript cannot represent; the model gets the nearest.
  const plain: unknown = JSON.parse(bodyText);
  const body = objectOf(plain);
  const { prompt } = body;
  const messages = isJsonList(prompt) ? prompt.map((message) => messageFor(message, version)) : prompt;
  return { ...omitMembers(body, new Set(["model"])), prompt: messages };
}

function messageFor(message: JsonValue, version: string): unknown {
  const { content } = objectOf(message);
  if (!isJsonObject(message) || !isJsonList(content)) return message;
  return { ...message, content: content.map((part) => (isJsonObject(part) ? partFor(part, version) : part)) };
}

function partFor(part: JsonObject, version: string): unknown {
  const { type, output } = part;
  if (type === "file" || type === "reasoning-file") return fileFor(part, version);
  if (type !== "tool-result" || !isJsonObject(output) || !isJsonList(output["value"])) return part;
  const parts = output["value"].filter(isJsonObject);
  return output["type"] === "content"
    ? { ...part, output: { ...output, value: parts.map((each) => outputPartFor(each, version)) } }
    : part;
}

/** `{ type: "data", data }` or `{ type: "url", url }`; V3 has the data or the address itself. */
function fileFor(part: JsonObject, version: string): unknown {
  const { data } = part;
  if (!isJsonObject(data)) return part;
  if (typeof data["url"] === "string") {
    const url = new URL(data["url"]);
    return { ...part, data: version === "v3" ? url : { ...data, url } };
  }
  return version === "v3" ? { ...part, data: data["data"] } : part;
}

/** V3 has other part types in results. */
function outputPartFor(part: JsonObject, version: string): unknown {
  if (part["type"] !== "file") return part;
  if (version !== "v3") return fileFor(part, version);
  const { mediaType, data, filename } = part;
  const { url, data: content } = objectOf(data);
  const kind = textOrEmpty(mediaType).startsWith("image/") ? "image" : "file";
  const named = filename === undefined ? {} : { filename };
  return url === undefined
    ? { type: `${kind}-data`, data: content, mediaType, ...named }
    : { type: `${kind}-url`, url };
}

/** The first option that models of this version do not support; null if there is none. */
export function unknownOption(bodyText: string, version: string): string | null {
  const body = jsonOf(bodyText);
  return version === "v3" && isJsonObject(body) && body["reasoning"] !== undefined ? "reasoning" : null;
}
