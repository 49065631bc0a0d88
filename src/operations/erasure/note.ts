import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
  verify,
} from "node:crypto";

/**
 * Signed notes: a text, an empty line, and signature lines (C2SP, signed-note, <https://c2sp.org/signed-note>), with Ed25519. Keys are the one-line
 * forms of Go's `sumdb/note`, which other tools read as well.
 */
export type SigningKey = { readonly name: string; readonly secret: KeyObject; readonly hash: string };
export type VerifyingKey = { readonly name: string; readonly open: KeyObject; readonly hash: string };

const ed25519 = 1;
/** The bytes of a key's hash, with which each of its signatures begins. */
const hashLength = 4;
/** The bytes before the 32 bytes of a key in PKCS #8 and in SPKI (RFC 8410). */
const secretPrefix = Buffer.from("302e020100300506032b657004220420", "hex");
const openPrefix = Buffer.from("302a300506032b6570032100", "hex");

/** Creates a key pair: the secret line for the signer, the public one for everyone who checks. */
export function newKeys(name: string): { readonly secret: string; readonly open: string } {
  checkName(name);
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  const seed = privateKey.export({ format: "der", type: "pkcs8" }).subarray(secretPrefix.length);
  const open = bytesOf(publicKey);
  const hash = hashOf(name, open);
  return {
    secret: `PRIVATE+KEY+${name}+${hash}+${encoded(seed)}\n`,
    open: `${name}+${hash}+${encoded(open)}\n`,
  };
}

/** @throws {TypeError} if the text is not a signing key. */
export function readSigningKey(text: string): SigningKey {
  const [, name = "", hash = "", key = ""] = /^PRIVATE\+KEY\+([^+\s]+)\+([0-9a-f]{8})\+(\S+)\s*$/.exec(text) ?? [];
  const bytes = decoded(key);
  if (bytes === null) throw new TypeError("it is no secret key: give a file that `turnlog keys new` wrote");
  const secret = createPrivateKey({ key: Buffer.concat([secretPrefix, bytes]), format: "der", type: "pkcs8" });
  if (hashOf(name, bytesOf(createPublicKey(secret))) !== hash)
    throw new TypeError("its key is not the one that it names");
  return { name, secret, hash };
}

/** @throws {TypeError} if the text is not a verifying key. */
export function readVerifyingKey(text: string): VerifyingKey {
  const [, name = "", hash = "", key = ""] = /^([^+\s]+)\+([0-9a-f]{8})\+(\S+)\s*$/.exec(text) ?? [];
  const bytes = decoded(key);
  if (bytes === null) throw new TypeError("it is no public key: give the .pub file that `turnlog keys new` wrote");
  if (hashOf(name, bytes) !== hash) throw new TypeError("its key is not the one that it names");
  const open = createPublicKey({ key: Buffer.concat([openPrefix, bytes]), format: "der", type: "spki" });
  return { name, open, hash };
}

/** @param text - Ends with a line feed, and not with an empty line. */
export function signNote(text: string, { name, secret, hash }: SigningKey): string {
  const signature = Buffer.concat([Buffer.from(hash, "hex"), sign(null, Buffer.from(text), secret)]);
  return `${text}\n— ${name} ${signature.toString("base64")}\n`;
}

/** The text of a note, without its signatures; a text without signatures is also accepted. */
export function textOfNote(note: string): string {
  const end = note.lastIndexOf("\n\n— ");
  return end === -1 ? note : note.slice(0, end + 1);
}

type Signature = { readonly signer: string; readonly hash: string; readonly bytes: Uint8Array };

/** The signatures of a note, none if it has none; null if one of their lines cannot be a signature by any key. */
export function signaturesOf(note: string): readonly Signature[] | null {
  const text = textOfNote(note);
  if (text === note) return [];
  const lines = note.slice(text.length + 1).split("\n");
  // A line feed ends the last signature.
  if (lines.pop() !== "") return null;
  const signatures: Signature[] = [];
  for (const line of lines) {
    const [, signer = "", value = ""] = /^— (\S+) (\S+)$/.exec(line) ?? [];
    const bytes = Buffer.from(value, "base64");
    if (bytes.length <= hashLength || bytes.toString("base64") !== value) return null;
    const hash = bytes.subarray(0, hashLength).toString("hex");
    signatures.push({ signer, hash, bytes: bytes.subarray(hashLength) });
  }
  return signatures;
}

/** The end of a sentence about a note of which `signaturesOf` gives null. */
export const noSignatures = "was changed: a line of its signatures is not a signature";

/** Whether a note is signed with a key, and its text is the signed one. */
export const isSignedBy = (note: string, key: VerifyingKey): boolean => signatureProblem(note, key) === null;

/** Why a note does not count as signed with a key, as the end of a sentence about it; null if it is signed, and its text is the signed one. */
export function signatureProblem(note: string, { name, open, hash }: VerifyingKey): string | null {
  const signatures = signaturesOf(note);
  if (signatures === null) return noSignatures;
  if (signatures.length === 0) return "has no signature: ask for the file that was written with --sign";
  const its = signatures.filter((signature) => signature.signer === name && signature.hash === hash);
  if (its.length === 0) return `is not signed with the key ${name}+${hash}: give the key of its signer`;
  const text = Buffer.from(textOfNote(note));
  const isSigned = its.some(({ bytes }) => verify(null, text, open, bytes));
  return isSigned ? null : "was changed after it was signed";
}

function checkName(name: string): void {
  if (!/^[A-Za-z0-9._/-]{1,64}$/.test(name))
    throw new TypeError(`'${name}' cannot be a key's name: give 1 to 64 letters, digits, . _ / or -`);
}

const bytesOf = (key: KeyObject): Buffer => key.export({ format: "der", type: "spki" }).subarray(openPrefix.length);

const encoded = (key: Buffer): string => Buffer.concat([Buffer.from([ed25519]), key]).toString("base64");

function decoded(text: string): Buffer | null {
  const bytes = Buffer.from(text, "base64");
  return bytes.length === 33 && bytes[0] === ed25519 ? bytes.subarray(1) : null;
}

const hashOf = (name: string, open: Buffer): string =>
  createHash("sha256")
    .update(`${name}\n`)
    .update(Buffer.from([ed25519]))
    .update(open)
    .digest("hex")
    .slice(0, 8);
