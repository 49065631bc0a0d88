import { readFile } from "node:fs/promises";
import { canonicalJson } from "../../../base/canonical-json.ts";
import { parseJson } from "../../../base/json.ts";
import { StoreCorruptedError } from "../../../log/ports/store-errors.ts";
import { recordedReceipts } from "../../../log/system-streams/erasures.ts";
import {
  noSignatures,
  readVerifyingKey,
  signatureProblem,
  signaturesOf,
  textOfNote,
} from "../../../operations/erasure/note.ts";
import { type ErasureReceipt, erasureReceiptSchema } from "../../../operations/erasure/receipt.ts";
import type { CliContext } from "../context.ts";
import { UsageError } from "../exit-codes.ts";

export type ReceiptOptions = { readonly receipt: string; readonly key?: string };

/**
 * Checks that a receipt is the one that was signed or, without a key, one that the store recorded. A signature that no key checks is noted.
 *
 * @throws {StoreCorruptedError} if it is not.
 * @throws {UsageError} if the file is not a receipt, or the key is invalid.
 */
export async function verifiedReceipt(context: CliContext, { receipt: file, key }: ReceiptOptions) {
  const note = await readFile(file, "utf8");
  const known = key === undefined ? null : keyIn(await readFile(key, "utf8"), key);
  // A change counts as one also if it leaves no receipt.
  const problem = known && signatureProblem(note, known);
  if (problem !== null) throw new StoreCorruptedError(`${file} ${problem}`);
  const receipt = receiptIn(note, file);
  const signatures = signaturesOf(note);
  if (signatures === null) throw new StoreCorruptedError(`${file} ${noSignatures}`);
  const { orderId, storeId, finished } = receipt;
  const found = { receiptFile: file, orderId, storeId, finished };
  if (known === null) {
    await using store = await context.openStore("read");
    const recorded: string[] = [];
    for await (const each of recordedReceipts(store.events, orderId)) recorded.push(comparable(each));
    if (recorded.length === 0) throw new StoreCorruptedError(`${file}: this store has no finished erasure ${orderId}`);
    const at = recorded.lastIndexOf(comparable(receipt));
    if (at === -1) throw new StoreCorruptedError(`${file} is no receipt that the store recorded`);
    if (signatures.length > 0)
      context.note(`the signature of ${file} was not checked: give --key FILE with the public key of its signer`);
    return { ...found, signedBy: null, isNewest: at === recorded.length - 1 };
  }
  return { ...found, signedBy: known.name, isNewest: null };
}

const comparable = (receipt: unknown): string => canonicalJson(parseJson(JSON.stringify(receipt)));

function receiptIn(note: string, file: string): ErasureReceipt {
  try {
    return erasureReceiptSchema.parse(JSON.parse(textOfNote(note)));
  } catch (cause) {
    throw new UsageError(`${file} is not a receipt of an erasure`, { cause });
  }
}

function keyIn(text: string, file: string) {
  try {
    return readVerifyingKey(text);
  } catch (cause) {
    throw new UsageError(`${file}: ${cause instanceof Error ? cause.message : "not a signing key"}`, { cause });
  }
}
