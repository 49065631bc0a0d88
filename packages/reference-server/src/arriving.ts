import type { IncomingMessage } from "node:http";
import { type Json, parseJson } from "./wire.ts";

/** Null if the path is invalid, or its escapes are not valid text. */
export function addressOf(path: string): URL | null {
  const base = "http://127.0.0.1";
  const url = path.startsWith("/") && URL.canParse(base + path) ? new URL(base + path) : null;
  try {
    decodeURIComponent(url?.pathname ?? "");
    return url;
  } catch {
    return null;
  }
}

/** Undefined if the text is not JSON. */
export function bodyOf(text: string): Json | undefined {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

/** Undefined if it is longer than allowed. The rest is read and dropped, so that the client gets its answer. */
export async function readBody(request: IncomingMessage, maxBytes: number): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request) {
    if (!Buffer.isBuffer(chunk)) continue;
    length += chunk.length;
    if (length <= maxBytes) chunks.push(chunk);
  }
  return length > maxBytes ? undefined : Buffer.concat(chunks).toString("utf8");
}
