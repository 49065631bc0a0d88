import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";

/** A sha256 in lower-case hexadecimal, 64 characters. */
export type Sha256 = string;

/** sha256 of a text's UTF-8 bytes, synchronous on every platform. */
export const sha256Hex = (text: string): Sha256 => hashes().ofText(text);

/** sha256 of two digests' 32 bytes each, one after the other: the step of a running hash. */
export const sha256OfPair = (left: Sha256, right: Sha256): Sha256 => hashes().ofPair(left + right);

type Hashes = { readonly ofText: (text: string) => Sha256; readonly ofPair: (pair: string) => Sha256 };

const platform: { readonly process?: Partial<NodeJS.Process> } = globalThis;
let chosen: Hashes | undefined;

// Node's own hash is ten times faster. It is loaded with the first digest, because loading it takes a quarter of the time in which
// Node starts. A browser has no synchronous hash, so it uses the pure-JavaScript one.
function hashes(): Hashes {
  if (chosen === undefined) {
    const node = platform.process?.getBuiltinModule?.("node:crypto");
    chosen = node === undefined ? inJavaScript : byNode(node);
  }
  return chosen;
}

/** The part of `node:crypto` that is used here. */
type NodeCrypto = { readonly hash: (name: string, data: string | Uint8Array, encoding: "hex") => string };

const byNode = (node: NodeCrypto): Hashes => ({
  ofText: (text) => node.hash("sha256", text, "hex"),
  // eslint-disable-next-line no-restricted-globals -- This branch is Node's own.
  ofPair: (pair) => node.hash("sha256", Buffer.from(pair, "hex"), "hex"),
});

const inJavaScript: Hashes = {
  ofText: (text) => bytesToHex(sha256(utf8ToBytes(text))),
  ofPair: (pair) => bytesToHex(sha256(hexToBytes(pair))),
};

/** Whether a value is a sha256 as this module writes it. */
export function isSha256Hex(value: unknown): value is Sha256 {
  if (typeof value !== "string" || value.length !== 64) return false;
  // No branch in the loop: the CPU cannot predict whether the next digit is a letter, and every event has several digests.
  let isHex = 1;
  for (let index = 0; index < 64; index += 1) isHex &= hexDigits[value.charCodeAt(index)] ?? 0;
  return isHex === 1;
}

/** By character code: 1 for a lower-case hexadecimal digit. */
const hexDigits = Uint8Array.from({ length: 128 }, (_, code) =>
  "0123456789abcdef".includes(String.fromCharCode(code)) ? 1 : 0,
);

function hexToBytes(hex: string): Uint8Array {
  return Uint8Array.from({ length: hex.length / 2 }, (_, index) =>
    Number.parseInt(hex.slice(index * 2, index * 2 + 2), 16),
  );
}
