import { readFileSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { isJsonList, isJsonObject, type JsonValue, parseJson } from "../../../src/base/json.ts";
import { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import { recordExport } from "../../../src/log/system-streams/exports.ts";
import {
  isSignedBy,
  newKeys,
  readSigningKey,
  readVerifyingKey,
  signNote,
  textOfNote,
} from "../../../src/operations/erasure/note.ts";
import { receiptText } from "../../../src/operations/erasure/receipt.ts";
import { openSqliteStore } from "../../../src/stores/sqlite/store.ts";
import { cases } from "../../support/cases.ts";
import { turnlogHere } from "../../support/cli/command.ts";
import { temporaryFolder } from "../../support/stores/temporary-folder.ts";

const why = { by: "dpo", ground: "gdpr-17", ticket: "T-1" } as const;

/** The signed receipt of an erasure of a whole conversation, which was exported before, and of a line of another one, in a folder with its keys. */
async function signedReceipt() {
  const { path: cwd, file } = temporaryFolder();
  await using store = new TurnlogStore(await openSqliteStore(file("turnlog.db")));
  await store.conversation("one").append("my-pin-is-7302-and-secret");
  await store.conversation("two").append("also: my-pin-is-7302-and-secret");
  const made = { kind: "bundle", isRedacted: false, sha256: "0".repeat(64), storeId: null } as const;
  await recordExport(store.log, { ...made, conversations: [store.conversation("one").id] });
  const plan = await store.planErasure({ conversations: ["one"], texts: ["my-pin-is-7302"] });
  const receipt = await store.erase(plan, why);
  const keys = newKeys("dpo");
  const note = signNote(receiptText(receipt), readSigningKey(keys.secret));
  writeFileSync(file("dpo.key"), keys.secret);
  writeFileSync(file("dpo.key.pub"), keys.open);
  writeFileSync(file("other.key.pub"), newKeys("dpo").open);
  const verify = (changed: string, key: string | null = "dpo.key.pub") => {
    writeFileSync(file("receipt.json"), changed);
    const withKey = key === null ? [] : ["--key", file(key)];
    return turnlogHere(["verify", "--receipt", file("receipt.json"), ...withKey], { cwd });
  };
  return { note, verify, file };
}

type Path = readonly (string | number)[];

/** Every member of a value, by its path. */
function* membersOf(value: JsonValue | undefined, path: Path = []): Generator<Path> {
  if (path.length > 0) yield path;
  if (value !== undefined && isJsonList(value))
    for (const [index, each] of value.entries()) yield* membersOf(each, [...path, index]);
  else if (value !== undefined && isJsonObject(value))
    for (const [name, each] of Object.entries(value)) yield* membersOf(each, [...path, name]);
}

/** The value with another one at a path; without it if that is undefined. */
function changedAt(value: JsonValue, [first, ...rest]: Path, change: (was: JsonValue) => JsonValue | undefined) {
  const entries: readonly [string | number, JsonValue | undefined][] = isJsonList(value)
    ? [...value.entries()]
    : isJsonObject(value)
      ? Object.entries(value)
      : [];
  const made = entries.flatMap(([name, was = null]): [string | number, JsonValue][] => {
    const is: JsonValue | undefined =
      name !== first ? was : rest.length === 0 ? change(was) : changedAt(was, rest, change);
    return is === undefined ? [] : [[name, is]];
  });
  return isJsonList(value) ? made.map(([, each]) => each) : Object.fromEntries(made);
}

function another(was: JsonValue): JsonValue {
  if (typeof was === "number") return was + 1;
  if (typeof was === "boolean") return !was;
  if (typeof was === "string") return `${was.slice(0, -1)}${was.endsWith("0") ? "1" : "0"}`;
  return was === null
    ? "x"
    : isJsonList(was)
      ? [...was, ...was, null]
      : Object.fromEntries([...Object.entries(was), ["more", 1]]);
}

/** All changes of the text of a receipt, each with its name. */
function* changesOfText(text: string): Generator<readonly [what: string, text: string]> {
  const receipt = parseJson(text);
  const written = (value: JsonValue): string => `${JSON.stringify(value, null, 2).replace("{\n  ", "{ ")}\n`;
  expect(written(receipt)).toBe(text);
  for (const path of membersOf(receipt)) {
    yield [`another ${path.join(".")}`, written(changedAt(receipt, path, another))];
    yield [`no ${path.join(".")}`, written(changedAt(receipt, path, () => undefined))];
  }
  yield ["in one line", `${JSON.stringify(receipt)}\n`];
  yield ["the members in another order", written(Object.fromEntries(Object.entries(receipt ?? {}).toReversed()))];
  yield ["a member twice", text.replace(/\n\}\n$/, ',\n  "finished": true\n}\n')];
  yield ["finished", text.replace('"finished": false', '"finished": true')];
  yield ["nothing left over", text.replace(/"leftOver": \[[^\]]*\]/, '"leftOver": []')];
  yield ["a space more", text.replace(": ", ":  ")];
  yield ["other ends of lines", text.replaceAll("\n", "\r\n")];
  yield ["a mark of the byte order", `\uFEFF${text}`];
  yield ["a text that is escaped", text.replace('"gdpr-17"', '"gdpr\\u002d17"')];
  yield ["cut in half", text.slice(0, text.length / 2)];
  yield ["empty", ""];
}

/** All changes of the signature of a note. */
function* changesOfSignature(line: string): Generator<readonly [what: string, signature: string]> {
  const [, name = "", value = ""] = /^— (\S+) (\S+)\n$/.exec(line) ?? [];
  const bytes = Buffer.from(value, "base64");
  expect(bytes.length).toBe(4 + 64);
  const with_ = (changed: Uint8Array) => `— ${name} ${Buffer.from(changed).toString("base64")}\n`;
  // The hash of the key, both halves of the signature, and their ends.
  for (const at of [0, 3, 4, 35, 36, 67])
    yield [`byte ${at} of the signature`, with_(bytes.map((byte, index) => (index === at ? byte ^ 1 : byte)))];
  yield ["a byte less", with_(bytes.subarray(0, -1))];
  yield ["a byte more", with_(Buffer.concat([bytes, Buffer.from([0])]))];
  yield ["no signature after the hash", with_(bytes.subarray(0, 4))];
  yield ["another name", line.replace(name, "other")];
  yield ["base64 for addresses", line.replace(value, `${bytes.toString("base64url")}==`).replace(/\+|\//g, "-")];
  yield ["base64 without its end", line.replace(/=+\n$/, "\n")];
  yield ["no name", line.replace(`${name} `, "")];
  yield ["a hyphen for the dash", line.replace("—", "-")];
  yield ["no line feed", line.slice(0, -1)];
  yield ["a line after it", `${line}checked by the auditor\n`];
  yield ["words after it", `${line}checked`];
  yield ["a line before it", `checked by the auditor\n${line}`];
  yield ["no line", ""];
}

test("each of 150 changes of a signed receipt is refused in one sentence", async () => {
  const { note, verify, file } = await signedReceipt();
  expect(await verify(note)).toMatchObject({ code: 0, stderr: "" });
  const text = textOfNote(note);
  const signature = note.slice(text.length + 1);
  const changes = [
    ...[...changesOfText(text)].map(([what, changed]) => [what, `${changed}\n${signature}`] as const),
    ...[...changesOfSignature(signature)].map(([what, changed]) => [what, `${text}\n${changed}`] as const),
    ["no empty line", `${text}${signature}`] as const,
    ["the receipt alone", text] as const,
    ["the signature alone", signature] as const,
  ];
  expect(changes.length).toBeGreaterThan(150);
  const sentences = new Set<string>();
  const key = readVerifyingKey(readFileSync(file("dpo.key.pub"), "utf8"));
  // The command takes a hundred times as long, so `npm test` gives it every third change.
  const step = cases(3, 1, 1);
  for (const [at, [what, changed]] of changes.entries()) {
    expect([what, changed === note, isSignedBy(changed, key)]).toEqual([what, false, false]);
    if (at % step !== 0) continue;
    const { code, stdout, stderr } = await verify(changed);
    expect([what, code, stdout]).toEqual([what, 4, ""]);
    expect([what, stderr]).toEqual([what, expect.stringMatching(/^turnlog: [^\n]+\n$/)]);
    sentences.add(
      stderr
        .replace(file("receipt.json"), "FILE")
        .replace(/dpo\+\w+/, "KEY")
        .trim(),
    );
  }
  expect([...sentences].toSorted()).toEqual([
    "turnlog: FILE has no signature: ask for the file that was written with --sign",
    "turnlog: FILE is not signed with the key KEY: give the key of its signer",
    "turnlog: FILE was changed after it was signed",
    "turnlog: FILE was changed: a line of its signatures is not a signature",
  ]);
});

test("without a key, what cannot be a signature is refused, and any other is said to be unchecked", async () => {
  const { note, verify } = await signedReceipt();
  const text = textOfNote(note);
  const signature = note.slice(text.length + 1);
  const whats = new Map<string, string[]>();
  for (const [what, changed] of [["as it was signed", signature] as const, ...changesOfSignature(signature)]) {
    const { code, stderr } = await verify(`${text}\n${changed}`, null);
    const said = /is not a signature|was not checked|is not a receipt/.exec(stderr)?.[0] ?? stderr;
    const outcome = `${code}: ${said}`;
    whats.set(outcome, [...(whats.get(outcome) ?? []), what]);
  }
  expect(Object.fromEntries(whats)).toEqual({
    "0: was not checked": [
      "as it was signed",
      ...[0, 3, 4, 35, 36, 67].map((at) => `byte ${at} of the signature`),
      ...["a byte less", "a byte more", "another name"],
    ],
    "0: ": ["no line"],
    "4: is not a signature": [
      ...["no signature after the hash", "base64 for addresses", "base64 without its end", "no name", "no line feed"],
      ...["a line after it", "words after it"],
    ],
    "2: is not a receipt": ["a hyphen for the dash", "a line before it"],
  });
});

test("a receipt is refused with the key of another signer of that name, with a secret key, and with no key", async () => {
  const { note, verify, file } = await signedReceipt();
  writeFileSync(file("no.key"), "");
  for (const [key, code, words] of [
    ["other.key.pub", 4, "give the key of its signer"],
    ["dpo.key", 2, "it is no public key"],
    ["no.key", 2, "it is no public key"],
  ] as const) {
    const { stderr, ...outcome } = await verify(note, key);
    expect([key, outcome.code, stderr.includes(words)]).toEqual([key, code, true]);
  }
  const forged = signNote(textOfNote(note).replace('"T-1"', '"T-2"'), readSigningKey(newKeys("dpo").secret));
  expect(await verify(forged)).toMatchObject({ code: 4, stdout: "" });
  expect(await verify(forged + note.slice(textOfNote(note).length + 1))).toMatchObject({ code: 4, stdout: "" });
});
