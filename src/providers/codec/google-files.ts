import type { JsonObject } from "../../base/json.ts";

/**
 * Why a server that is none of Google's cannot be sent a part: it is a file of the Gemini Files API or of Cloud Storage, whose addresses
 * Google alone reads. Null for other parts.
 */
export function keptByGoogle({ url }: JsonObject): string | null {
  return typeof url === "string" && googleFile.test(url) ? "its address is one of a file that Google keeps" : null;
}

const googleFile = /^(gs:\/\/|https:\/\/generativelanguage\.googleapis\.com\/([^/?#]+\/)?files\/)/;
