import { UsageError } from "./exit-codes.ts";

/** A revision as the user typed it: counted from the start, from the end if negative, or the answer to a message. */
export type RevisionName =
  | { readonly type: "number"; readonly revision: number }
  | { readonly type: "response"; readonly prefix: string };

/** `<conversation>`, `<conversation>@<revision>` or `<conversation>@<revision>..<revision>`, parsed but not looked up. */
export type RevisionPlace = {
  /** The beginning of a conversation's id, or `@last`. */
  readonly conversation: string;
  readonly at:
    | { readonly type: "none" }
    | { readonly type: "one"; readonly revision: RevisionName }
    /** A missing end is the first or the last revision. */
    | { readonly type: "range"; readonly from: RevisionName; readonly to: RevisionName };
};

export const firstRevisionName: RevisionName = { type: "number", revision: 0 };
export const lastRevision: RevisionName = { type: "number", revision: -1 };
export const lastWritten = "@last";

/**
 * Parses a place in a conversation.
 *
 * @throws {UsageError} if it is not one.
 */
export function parsePlace(text: string): RevisionPlace {
  const isLast = text === lastWritten || text.startsWith(`${lastWritten}@`);
  const separator = text.indexOf("@", isLast ? 1 : 0);
  const conversation = separator < 0 ? text : text.slice(0, separator);
  if (conversation === "")
    throw new UsageError(`'${text}' does not name a conversation: write cnv_8f3k@120, or @last@-1`);
  if (separator < 0) return { conversation, at: { type: "none" } };
  const revision = text.slice(separator + 1);
  const dots = revision.indexOf("..");
  if (dots < 0) return { conversation, at: { type: "one", revision: parseRevision(revision, text) } };
  const [from, to] = [revision.slice(0, dots), revision.slice(dots + 2)];
  return {
    conversation,
    at: {
      type: "range",
      from: from === "" ? firstRevisionName : parseRevision(from, text),
      to: to === "" ? lastRevision : parseRevision(to, text),
    },
  };
}

function parseRevision(text: string, whole: string): RevisionName {
  if (/^-?\d{1,15}$/.test(text)) return { type: "number", revision: Number(text) };
  if (/^[A-Za-z][\w-]*$/.test(text)) return { type: "response", prefix: text };
  throw new UsageError(
    `'${text}' in '${whole}' is not a revision: write a number (120, -1 for the last event) or a response id`,
  );
}
