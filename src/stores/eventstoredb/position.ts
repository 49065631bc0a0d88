import { StoreCorruptedError } from "../../engine/ports/event-store.ts";

/** A place in the server's log: two 64-bit numbers, kept as decimal text so that none loses a digit. */
export type Position = { readonly commit: string; readonly prepare: string };

/** The text of a position; `comparePositions` orders such texts as the server orders positions. */
export function positionText({ commit, prepare }: Position): string {
  // The shorter text is the smaller number, so the second one has a fixed length.
  return `${commit}/${prepare.padStart(digitsMax, "0")}`;
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
const digitsMax = 20;

const positionPattern = /^(\d{1,20})\/(\d{20})$/;
