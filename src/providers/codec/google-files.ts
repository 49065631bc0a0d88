import type { JsonObject } from "../../base/json.ts";

/**
 * Why a server other than Google's cannot be sent a part: it is a file of the Gemini Files API or of Cloud Storage, whose addresses only
 * Google can read. Null for other parts.
 */
export function keptByGoogle({ url }: JsonObject): string | null {
  return typeof url === "string" && googleFile.test(url) ? "its address is one of a file that Google keeps" : null;
}

const googleFile = /^(gs:\/\/|https:\/\/generativelanguage\.googleapis\.com\/([^/?#]+\/)?files\/)/;
