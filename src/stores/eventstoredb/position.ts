import { StoreCorruptedError } from "../../log/ports/event-store.ts";

/** A place in the server's log: two 64-bit numbers, kept as decimal text so that none loses a digit. */
export type Position = { readonly commit: string; readonly prepare: string };

/**
 * Whether two numbers are a place at all. 2^64 - 1 stands for none: servers before 22.6 give it to events of a stream,
 * and 24.2 to 24.10.4 as the checkpoint of a subscription that has found nothing; taken for a place it would be beyond all.
 */
export const isPosition = ({ commit, prepare }: Position): boolean => commit !== none && prepare !== none;

const none = (2n ** 64n - 1n).toString();

/** The text of a position; `comparePositions` orders such texts as the server orders positions. */
export function positionText({ commit, prepare }: Position): string {
  // The shorter text is the smaller number, so the second one has a fixed length.
  return `${commit}/${prepare.padStart(maxDigits, "0")}`;
}

/** @throws {StoreCorruptedError} for a text that no store of this kind has given. */
export function parsePosition(text: string): Position {
  const [, commit, prepare] = positionPattern.exec(text) ?? [];
  if (commit === undefined || prepare === undefined) {
    throw new StoreCorruptedError(`${text} is not a position of an EventStoreDB: it is another store's`);
  }
  return { commit, prepare: BigInt(prepare).toString() };
}

// Of 2^64 - 1.
const maxDigits = 20;

const positionPattern = /^(\d{1,20})\/(\d{20})$/;
