import { isJsonObject, type JsonObject, type JsonValue, listOf } from "../../base/json.ts";
import type { Capabilities } from "./codec.ts";

/** Which parts of messages an endpoint takes. What stands in no capability, it takes as far as its wire has a form for it. */
export type PartCapabilities = {
  /** Images, by their data or at an address. */
  readonly images?: boolean;
  /** Images at an address, which the server fetches. */
  readonly imageUrls?: boolean;
  /** Files, by their data or by an id. */
  readonly files?: boolean;
  readonly audio?: boolean;
};

export const partCapabilityNames = [
  ...(["images", "imageUrls", "files", "audio"] as const),
] satisfies readonly (keyof PartCapabilities)[];

const kinds: Readonly<Record<string, keyof PartCapabilities>> = { image: "images", file: "files", audio: "audio" };

const inWords = {
  images: "images",
  files: "files",
  audio: "audio",
  imageUrls: "images at an address: give their data",
};

/** Why an endpoint of these capabilities takes no such part; null when nothing speaks against it. */
export function refusedPart({ type, url }: JsonObject, capabilities: Capabilities): string | null {
  if (typeof type !== "string") return null;
  const isAtAddress = typeof url === "string" && !url.startsWith("data:");
  const asked = [kinds[type], ...(type === "image" && isAtAddress ? (["imageUrls"] as const) : [])];
  const lacking = asked.find((name) => name !== undefined && capabilities[name] === false);
  if (lacking !== undefined) return `it takes no ${inWords[lacking]}`;
  const { supportedUrls } = capabilities;
  const isUnsupported = isAtAddress && isJsonObject(supportedUrls) && !isFetched(url, type, supportedUrls);
  return isUnsupported ? `the model takes no ${type} at this address: give its data` : null;
}

/** Whether a model of the AI SDK says so of an address, by patterns for each media type. The media type of a file is not known. */
function isFetched(url: string, type: string, supported: JsonObject): boolean {
  const patterns = Object.entries(supported).flatMap(([mediaType, list]): readonly JsonValue[] =>
    type === "file" || mediaType.startsWith("*") || mediaType.startsWith(`${type}/`) ? listOf(list) : [],
  );
  return patterns.some((pattern) => typeof pattern === "string" && new RegExp(pattern).test(url.toLowerCase()));
}
