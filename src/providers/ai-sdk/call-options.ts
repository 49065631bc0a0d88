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

/** The options of a call as they were recorded; addresses of files are objects there, as models expect them. */
export function callOptions(bodyText: string, version: string): Readonly<Record<string, unknown>> {
  // What is recorded may spell numbers that JavaScript has not; a model gets those that it has.
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

/** V3 has other types of parts for results. */
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

/** Whether the options ask for what models of this version have no word for. */
export function unknownOption(bodyText: string, version: string): string | null {
  const body = jsonOf(bodyText);
  return version === "v3" && isJsonObject(body) && body["reasoning"] !== undefined ? "reasoning" : null;
}
