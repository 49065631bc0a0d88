import { printableJson } from "../../base/printable.ts";
import type { SentRequest } from "../../engine/recorded/recorded-request.ts";
import { fitting } from "./by-bytes.ts";
import type { BodyDocument } from "./page-documents.ts";

/** A longer line of a body is cut: the whole of it is in the document of `turnlog request`. */
const mostCharacters = 4_000;

/** A page of a body, indented. */
export function bodyDocument(
  conversation: string,
  { revision, sha256, bytes, encoder, transport, bodyText }: SentRequest,
  { from, n }: { readonly from: number; readonly n: number },
): BodyDocument {
  const lines = printableJson(indented(bodyText)).split("\n");
  const shown = fitting(
    lines
      .slice(from, from + n)
      .map((line) => (line.length > mostCharacters ? `${line.slice(0, mostCharacters)}…` : line)),
  );
  return { conversation, revision, sha256, bytes, encoder, transport, from, total: lines.length, lines: shown };
}

function indented(text: string): string {
  const body: unknown = JSON.parse(text);
  return JSON.stringify(body, null, 2);
}
