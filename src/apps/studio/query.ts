import type { Context } from "hono";
import { RefusedError } from "./failures.ts";

/** The most rows of one answer. */
const mostRows = 500;

/** A whole number of a query or a path. */
export function wholeOf(text: string | undefined, name: string, otherwise: number): number {
  if (text === undefined || text === "") return otherwise;
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new RefusedError(400, "input", { message: `${name} is '${text.slice(0, 40)}': give a whole number` });
}

/** The first place that is wanted of a list; null for its newest items. */
export function placeIn(context: Context, name: string): number | null {
  const text = context.req.query(name) ?? "";
  return text === "" ? null : wholeOf(text, name, 0);
}

/** `from` and `n` of a page. */
export const pageOf = (context: Context, rows: number): { readonly from: number; readonly n: number } => ({
  from: wholeOf(context.req.query("from"), "from", 0),
  n: Math.min(mostRows, Math.max(1, wholeOf(context.req.query("n"), "n", rows))),
});

/** The revision of a path, within a conversation. */
export function revisionIn(context: Context, events: number): number {
  const revision = wholeOf(context.req.param("revision"), "the revision", 0);
  if (revision < events) return revision;
  const message = `there is no revision ${revision}: it has the revisions 0 to ${events - 1}`;
  throw new RefusedError(404, "revision-not-found", { message, hint: "Choose a revision on the strip or in the log." });
}

/** Several values in one member of a query: `a,b`. */
export const listIn = (context: Context, name: string): readonly string[] =>
  (context.req.query(name) ?? "").split(",").filter((each) => each !== "");
