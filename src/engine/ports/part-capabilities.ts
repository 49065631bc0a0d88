import { isJsonObject, type JsonObject, type JsonValue, listOf } from "../../base/json.ts";
import type { Capabilities } from "./capabilities.ts";

/**
 * The parts of messages that an endpoint accepts. If a capability is absent, the endpoint accepts the part if its wire has a form
 * for it.
 */
export type PartCapabilities = {
  /** Images, as data or by address. */
  readonly images?: boolean;
  /** Images by address, which the server fetches. */
  readonly imageUrls?: boolean;
  /** Files, as data or by id. */
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

/** Why an endpoint of these capabilities rejects such a part; null if no capability says so. */
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

/** Whether a model of the AI SDK accepts an address, by its patterns for each media type. The media type of a file is unknown. */
function isFetched(url: string, type: string, supported: JsonObject): boolean {
  const patterns = Object.entries(supported).flatMap(([mediaType, list]): readonly JsonValue[] =>
    type === "file" || mediaType.startsWith("*") || mediaType.startsWith(`${type}/`) ? listOf(list) : [],
  );
  return patterns.some((pattern) => typeof pattern === "string" && new RegExp(pattern).test(url.toLowerCase()));
}
