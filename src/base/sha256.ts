import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";

/** A sha256 in lower-case hexadecimal, 64 characters. */
export type Sha256 = string;

// Node's own hash is ten times faster; a browser has no synchronous one, so the pure-JavaScript one serves there.
const platform: { readonly process?: Partial<NodeJS.Process> } = globalThis;
const nodeCrypto = platform.process?.getBuiltinModule?.("node:crypto");

/** sha256 of a text's UTF-8 bytes, synchronous on every platform. */
export const sha256Hex: (text: string) => Sha256 = nodeCrypto
  ? (text) => nodeCrypto.hash("sha256", text, "hex")
  : (text) => bytesToHex(sha256(utf8ToBytes(text)));

/** Whether a value is a sha256 as this module writes it. */
export function isSha256Hex(value: unknown): value is Sha256 {
  if (typeof value !== "string" || value.length !== 64) return false;
  // No branch in the loop: whether the next digit is a letter cannot be predicted, and every event has some digests.
  let isHex = 1;
  for (let index = 0; index < 64; index += 1) isHex &= hexDigits[value.charCodeAt(index)] ?? 0;
  return isHex === 1;
}

/** By character code: 1 for a lower-case hexadecimal digit. */
const hexDigits = Uint8Array.from({ length: 128 }, (_, code) =>
  "0123456789abcdef".includes(String.fromCharCode(code)) ? 1 : 0,
);

/** sha256 of two digests' 32 bytes each, one after the other: how a running hash takes its next member. */
export const sha256OfPair: (left: Sha256, right: Sha256) => Sha256 = nodeCrypto
  ? // eslint-disable-next-line no-restricted-globals -- This branch is Node's own.
    (left, right) => nodeCrypto.hash("sha256", Buffer.from(left + right, "hex"), "hex")
  : (left, right) => bytesToHex(sha256(hexToBytes(left + right)));

function hexToBytes(hex: string): Uint8Array {
  return Uint8Array.from({ length: hex.length / 2 }, (_, index) =>
    Number.parseInt(hex.slice(index * 2, index * 2 + 2), 16),
  );
}
