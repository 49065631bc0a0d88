import { isJsonList, isJsonObject, type JsonObject, type JsonValue, omitMembers } from "../../base/json.ts";
import type { Draft } from "../../engine/ports/codec.ts";
import { blockKindOf, contentsOf, draftOf, draftOfAll, type MessageResidue, messageResidue } from "./content-blocks.ts";

/** A message, and the positions of its blocks in the input. */
export type Message = {
  readonly role: string;
  readonly content: readonly JsonObject[];
  /** For each content block, the index of the given block that it belongs to. */
  readonly places: readonly number[];
  readonly residue: MessageResidue;
};

/**
 * Converts blocks to messages: adjacent blocks of one role are one message. Results come first in theirs, because they answer the calls
 * directly before them.
 */
export function messagesOf(drafts: readonly Draft[]): readonly Message[] {
  const messages: { role: string; content: JsonObject[]; places: number[]; residue: MessageResidue }[] = [];
  for (const [place, draft] of drafts.entries()) {
    const role = roleOf(draft);
    const residue = messageResidue(draft);
    const last = messages.at(-1);
    const current = last === undefined || last.role !== role || residue.isNew === true ? null : last;
    const contents = contentsOf(draft);
    const message = current ?? { role, content: [], places: [], residue };
    if (current === null) messages.push(message);
    message.content.push(...contents);
    message.places.push(...contents.map(() => place));
  }
  return messages;
}

/** Restores messages exactly as they were read, with texts as content and all other members. */
export const writtenMessages = (drafts: readonly Draft[]): readonly JsonObject[] =>
  messagesOf(drafts).map(({ role, content, residue }) => ({
    role,
    content: residue.isText === true ? (content[0]?.["text"] ?? "") : content,
    ...residue.set,
  }));

/** Converts messages to blocks from which `writtenMessages` restores them exactly. */
export function draftsOfMessages(messages: readonly JsonObject[]): readonly Draft[] {
  let before: JsonValue | undefined;
  return messages.flatMap((message) => {
    const { role, content } = message;
    const set = omitMembers(message, new Set(["role", "content"]));
    const residue: MessageResidue = {
      ...(typeof content === "string" ? { isText: true } : {}),
      ...(role === before ? { isNew: true } : {}),
      ...(Object.keys(set).length === 0 ? {} : { set }),
    };
    before = role;
    return draftsOfContent(role, contentBlocks(content), Object.keys(residue).length === 0 ? undefined : residue);
  });
}

function draftsOfContent(
  role: JsonValue | undefined,
  contents: readonly JsonObject[],
  residue: MessageResidue | undefined,
): readonly Draft[] {
  const kind = role === "assistant" || role === "system" ? role : "user";
  const pieces = role === "assistant" ? contents.map((content) => [content]) : said(contents);
  return (pieces.length === 0 ? [[]] : pieces).map((piece, n) => {
    const [first] = piece;
    const own =
      first === undefined || (role !== "assistant" && blockKindOf(first) !== "tool_result") ? kind : blockKindOf(first);
    return n === 0 && residue !== undefined ? draftOfAll(own, piece, residue) : draftOfPiece(own, piece);
  });
}

const draftOfPiece = (kind: Draft["kind"], piece: readonly JsonObject[]): Draft =>
  piece.length === 1 && piece[0] !== undefined && kind === blockKindOf(piece[0])
    ? draftOf(piece[0])
    : draftOfAll(kind, piece);

/** Splits off each result, and groups the content between them. */
function said(contents: readonly JsonObject[]): readonly (readonly JsonObject[])[] {
  const pieces: JsonObject[][] = [];
  let isOpen = false;
  for (const content of contents) {
    const isResult = blockKindOf(content) === "tool_result";
    const last = pieces.at(-1);
    if (isResult || !isOpen || last === undefined) pieces.push([content]);
    else last.push(content);
    isOpen = !isResult;
  }
  return pieces;
}

const contentBlocks = (content: JsonValue | undefined): readonly JsonObject[] =>
  typeof content === "string"
    ? [{ type: "text", text: content }]
    : isJsonList(content)
      ? content.filter(isJsonObject)
      : [];

function roleOf({ kind }: Draft): string {
  if (kind === "user" || kind === "tool_result") return "user";
  return kind === "system" ? "system" : "assistant";
}
