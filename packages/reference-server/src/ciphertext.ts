import { createHash, createHmac } from "node:crypto";
import { type JsonObject, objectsOf, stringOf } from "./wire.ts";

const prefix = "gAAAAAB";

/** The content of an encrypted reasoning or compaction item, for the server that wrote it. */
interface Sealed {
  readonly itemId: string;
  /** The item's name in a reading, so that an item resent without its id is recognised. */
  readonly readingKey: string;
}

/** Seals and opens the `encrypted_content` of one server: the text of another server does not verify. */
export interface Ciphertexts {
  /** A different text each time, as real servers do: 4 of 4 recorded items differ between their frames. */
  seal(item: JsonObject): string;
  isAuthentic(text: string, itemId: string | undefined): boolean;
}

export function createCiphertexts(seed: string): Ciphertexts {
  let sealed = 0;
  const mac = (payload: string): string => createHmac("sha256", seed).update(payload).digest("hex").slice(0, 24);
  return {
    seal(item) {
      sealed += 1;
      const payload = JSON.stringify([stringOf(item["id"]) ?? "", reasoningKey(item), sealed]);
      return written(mac(payload) + payload);
    },
    isAuthentic(text, itemId) {
      const { tag, payload } = open(text);
      // Encoded again and compared: the last bits of base64 carry no data, so a changed letter might otherwise pass.
      if (tag !== mac(payload) || written(tag + payload) !== text) return false;
      return itemId === undefined || unseal(text)?.itemId === itemId;
    },
  };
}

/** Reads a sealed text without checking who wrote it; undefined for any text not written by a reference server. */
function unseal(text: string): Sealed | undefined {
  if (!text.startsWith(prefix)) return undefined;
  const match = /^\["([^"]*)","([^"]*)",\d+\]$/.exec(open(text).payload);
  return match === null ? undefined : { itemId: match[1] ?? "", readingKey: match[2] ?? "" };
}

/** The id of the item that a text was sealed for; undefined for any text not written by a reference server. */
export const sealedItemId = (text: string): string | undefined => unseal(text)?.itemId;

/** The name of a reasoning or compaction item in a reading: its readable text, else its id. */
export function reasoningKey(item: JsonObject): string {
  const sealed = unseal(stringOf(item["encrypted_content"]) ?? "");
  if (sealed !== undefined) return sealed.readingKey;
  const texts = [...objectsOf(item["summary"]), ...objectsOf(item["content"])].map(
    (part) => stringOf(part["text"]) ?? "",
  );
  return texts.length === 0 ? unreadableKey(item) : hashOf(texts.join("\n"));
}

function unreadableKey(item: JsonObject): string {
  const id = stringOf(item["id"]);
  return id === undefined ? hashOf(stringOf(item["encrypted_content"]) ?? "") : `id:${id}`;
}

/** 16 hex digits of sha256: enough to distinguish any two texts of a test, and short enough to read in a failure. */
export function hashOf(text: string): string {
  return createHash("sha256").update(text, "utf8").digest("hex").slice(0, 16);
}

function written(plain: string): string {
  return prefix + Buffer.from(plain, "utf8").toString("base64url");
}

function open(text: string): { readonly tag: string; readonly payload: string } {
  const plain = Buffer.from(text.slice(prefix.length), "base64url").toString("utf8");
  return { tag: plain.slice(0, 24), payload: plain.slice(24) };
}
