import { utf8Length } from "../../base/utf8.ts";

/** How many bytes the rows of an answer have at most: its other members have less than 20 kB. */
const mostBytes = 80_000;

/** The bytes that a value has in an answer. */
export const jsonBytes = (value: unknown): number => utf8Length(JSON.stringify(value));

/**
 * The rows of a page that fit in an answer, at least the first one: the page shows how many it got, and asks for the rest. A row makes sure
 * by itself that it is not too large.
 */
export function fitting<Row>(rows: Iterable<Row>, most: number = mostBytes): readonly Row[] {
  const fit: Row[] = [];
  let bytes = 0;
  for (const row of rows) {
    // A comma follows.
    bytes += jsonBytes(row) + 1;
    if (bytes > most && fit.length > 0) break;
    fit.push(row);
  }
  return fit;
}

/** Makes each row when it is asked for, so that rows which do not fit cost nothing. */
export function* lazily<Item, Row>(items: Iterable<Item>, make: (item: Item) => Row): Generator<Row> {
  for (const item of items) yield make(item);
}
