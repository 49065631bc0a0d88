import { expect, test } from "vitest";
import {
  isSignedBy,
  newKeys,
  readSigningKey,
  readVerifyingKey,
  signNote,
  textOfNote,
} from "../../../src/operations/erasure/note.ts";
import { type ErasureReceipt, receiptText } from "../../../src/operations/erasure/receipt.ts";

const receipt: ErasureReceipt = {
  ...{ finished: true, format: "turnlog-erasure-receipt", version: 1, orderId: "era_1", storeId: "s" },
  ordered: { at: "2026-01-01T00:00:00.000Z", by: "dpo", ground: "gdpr-17", ticket: null },
  ...{ kept: "skeleton", conversations: [], search: "not-searched", leftOver: [], exports: [] },
  done: { at: "2026-01-01T00:00:01.000Z", events: 3, lines: 0, blobEvents: 0, snapshots: 0, rows: 0, scrub: null },
};

test("a note is read by its own key alone, and any change of its text or its signature is seen", () => {
  const [keys, others] = [newKeys("dpo"), newKeys("dpo")];
  const note = signNote(receiptText(receipt), readSigningKey(keys.secret));
  const key = readVerifyingKey(keys.open);
  expect(isSignedBy(note, key)).toBe(true);
  expect(textOfNote(note)).toBe(receiptText(receipt));
  expect(note.split("\n")[0]).toBe('{ "finished": true,');
  expect(isSignedBy(note, readVerifyingKey(others.open))).toBe(false);
  expect(isSignedBy(receiptText(receipt), key)).toBe(false);
  let refused = 0;
  for (let at = 0; at < note.length; at += Math.ceil(note.length / 60)) {
    const changed = `${note.slice(0, at)}${note[at] === "x" ? "y" : "x"}${note.slice(at + 1)}`;
    refused += isSignedBy(changed, key) ? 0 : 1;
  }
  expect(refused).toBeGreaterThanOrEqual(50);
});

test("a key in the form of Go's sumdb is read, and what is none is refused", () => {
  // The example of golang.org/x/mod/sumdb/note.
  const open = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";
  const text = "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n";
  const note = `${text}\n— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n`;
  expect(isSignedBy(note, readVerifyingKey(open))).toBe(true);
  expect(() => readVerifyingKey("nonsense")).toThrow(TypeError);
  expect(() => readSigningKey(open)).toThrow(/turnlog keys new/);
  expect(() => newKeys("a b")).toThrow(/cannot be a key's name/);
});
