import { isJsonList, isJsonObject, type JsonObject, type JsonValue } from "../base/json.ts";
import { kindOf } from "../base/options.ts";

/**
 * The content of a message as a block holds it: a list of parts, whose types do not depend on the role. Parts in the words
 * of chat APIs (`image_url`, `input_text`) are said in ours; those of other types stay as they are.
 *
 * @param where - Who takes the content, for the error.
 * @throws {TypeError} for what is neither a text nor a list of parts.
 */
export function contentParts(content: unknown, where: string): readonly JsonObject[] {
  if (typeof content === "string") return [{ type: "text", text: content }];
  if (isJsonList(content)) return content.map((part, index) => partOf(part, `${where}: content[${index}]`));
  throw new TypeError(`${where}: content is ${kindOf(content)}: give a text or a list of parts`);
}

function partOf(part: JsonValue, where: string): JsonObject {
  if (typeof part === "string") throw new TypeError(`${where} is a text: write { type: "text", text }`);
  if (!isJsonObject(part))
    throw new TypeError(`${where} is ${kindOf(part)}: give a part such as { type: "text", text }`);
  const { type } = part;
  if (typeof type !== "string") throw new TypeError(`${where} has no type: give a part such as { type: "text", text }`);
  const own = ownPart(type, part);
  const member = neededMembers.get(own.type);
  if (member === undefined || typeof own[member] === "string" || typeof own["file_id"] === "string") return own;
  throw new TypeError(`${where} is of type ${type}, and its ${member} is ${kindOf(own[member])}: give a text`);
}

/** What a part cannot do without; an image or a file that was uploaded has a `file_id` in its place. */
const neededMembers: ReadonlyMap<string, string> = new Map([
  ["text", "text"],
  ["image", "image_url"],
  ["refusal", "refusal"],
]);

type OwnPart = JsonObject & { readonly type: string };

function ownPart(type: string, part: JsonObject): OwnPart {
  const { image_url: image, file } = part;
  if (type === "image_url") {
    const { url, detail } = isJsonObject(image) ? image : { url: image };
    return { type: "image", image_url: url, detail: detail ?? "auto" };
  }
  if (type === "file" && isJsonObject(file)) return { type, ...file };
  if (type === "input_audio") return { ...part, type: "audio" };
  const ours = type.startsWith("input_") ? type.slice("input_".length) : type === "output_text" ? "text" : type;
  return { ...part, type: ours };
}
