import { isJsonObject, type JsonObject, type JsonValue, textOrEmpty } from "../../base/json.ts";

/** A part that is not a text in Gemini's form, from its bytes or address: `inlineData` or `fileData`; null for other parts. */
export function mediaFor(part: JsonObject): JsonObject | null {
  const { type, audio } = part;
  if (type === "audio" && isJsonObject(audio))
    return inlineData(`audio/${textOrEmpty(audio["format"])}`, audio["data"]);
  if (type !== "image" && type !== "file") return null;
  const address = [part["url"], part["data"]].find((value) => typeof value === "string") ?? null;
  const data = address === null ? null : dataUrl(address);
  if (data !== null) return inlineData(data.mimeType, data.data);
  return address === null ? null : { fileData: { ...mediaTypeOf(address), fileUri: address } };
}

/** The MIME type by the end of the address: `fileData` has nothing else to show that it is an image. */
function mediaTypeOf(address: string): { readonly mimeType?: string } {
  const [, ending = ""] = /^[^?#]*\.(\w+)(?:[?#]|$)/.exec(address) ?? [];
  const mimeType = mediaTypes.get(ending.toLowerCase());
  return mimeType === undefined ? {} : { mimeType };
}

const mediaTypes: ReadonlyMap<string, string> = new Map([
  ...["png", "jpeg", "webp", "gif", "heic", "heif"].map((form) => [form, `image/${form}`] as const),
  ["jpg", "image/jpeg"],
  ["pdf", "application/pdf"],
]);

/** Why a request cannot send such a part; null if it can. */
export function mediaRefusal({ type, url, data, fileId, audio }: JsonObject): string | null {
  if (type === "audio") return isJsonObject(audio) ? null : "audio without its data";
  if (typeof url === "string" || typeof data === "string") return null;
  const isElsewhere = typeof fileId === "string";
  return isElsewhere
    ? `a ${textOrEmpty(type)} that another provider keeps under an id`
    : `a ${textOrEmpty(type)} without an address`;
}

/** `inlineData` or `fileData` as a part; null for other parts. */
export function mediaIn({ inlineData: inline, fileData: file }: JsonObject): JsonObject | null {
  if (isJsonObject(inline)) {
    const [mimeType, data] = [textOrEmpty(inline["mimeType"]), inline["data"]];
    if (typeof data !== "string" || mimeType === "") return null;
    const [family = "", form = ""] = mimeType.split("/");
    if (family === "audio") return { type: "audio", audio: { data, format: audioFormats.get(form) ?? form } };
    const url = `data:${mimeType};base64,${data}`;
    return family === "image" ? { type: "image", url } : { type: "file", name: `file.${form}`, data: url };
  }
  if (!isJsonObject(file) || typeof file["fileUri"] !== "string") return null;
  const isImage = textOrEmpty(file["mimeType"]).startsWith("image/");
  return { type: isImage ? "image" : "file", url: file["fileUri"] };
}

/** Names of audio formats in other APIs, by MIME type. */
const audioFormats: ReadonlyMap<string, string> = new Map([["mpeg", "mp3"]]);

const inlineData = (mimeType: string, data: JsonValue | undefined): JsonObject => ({
  inlineData: { mimeType, data: data ?? "" },
});

/** The base64 content of a data URL. It does not look past the comma. */
function dataUrl(address: JsonValue): { readonly mimeType: string; readonly data: string } | null {
  if (typeof address !== "string" || !address.startsWith("data:")) return null;
  const comma = address.indexOf(",");
  const [mimeType = "", ...marks] = address.slice("data:".length, comma).split(";");
  return marks.includes("base64") ? { mimeType, data: address.slice(comma + 1) } : null;
}
