import { isJsonObject, type JsonObject, type JsonValue } from "../base/json.ts";
import type { Actor } from "../domain/actor.ts";
import type { Block } from "../domain/block.ts";
import { resultParts, saidIn } from "../domain/message-content.ts";
import { type Usage, usageOf } from "./usage.ts";

/** How views put things into words. */

/** A text on one line, without anything that a terminal obeys, cut at so many characters. */
export function excerpt(text: string, length: number): string {
  // More than is shown, so that a long text costs no more than a short one.
  const line = printable(text.slice(0, length * 4))
    .replace(/\s+/gu, " ")
    .trim();
  // One character each, where there is nothing but letters.
  const characters = isPlain(line) ? line : Array.from(line);
  const isWhole = characters.length <= length && text.length <= length * 4;
  if (isWhole) return line;
  const kept = characters.slice(0, length - 1);
  return `${typeof kept === "string" ? kept : kept.join("")}…`;
}

/**
 * A text without what a terminal obeys and what nobody sees: control and direction characters, line separators and what has no
 * width are blanks. Line feeds and tabs stay, and so does what makes one emoji of several, or chooses a character's look.
 */
export const printable = (text: string): string => (isPlain(text) ? text : text.replace(unprintable, " "));

/**
 * Whether a text has nothing but Latin letters, digits, blanks and the punctuation of their languages: each is one character
 * of one width. Most texts are so, and looking through them for what is rare takes long.
 */
export const isPlain = (text: string): boolean => plain.test(text);
const plain = /^[\n\t -~\u00a1-\u00ac\u00ae-\u02ff\u2010-\u2027\u2030-\u203a]*$/;

/** The same on one line, every blank where it was. */
export const inOneLine = (text: string): string => printable(text).replace(/[\n\t]/g, " ");

/** The same JSON text with these characters as escapes, so that it still says what it said. */
export const printableJson = (json: string): string =>
  json.replace(unprintable, (character) =>
    Array.from({ length: character.length }, (_, index) => escapeOf(character.charCodeAt(index))).join(""),
  );

const escapeOf = (unit: number): string => `\\u${unit.toString(16).padStart(4, "0")}`;

const unprintable = new RegExp(
  [
    "(?![\\n\\t])",
    // One variation selector behind a character; more of them hide something.
    "(?!(?<![\\ufe00-\\ufe0f])[\\ufe00-\\ufe0f])",
    "(?!(?<=[\\p{Extended_Pictographic}\\p{Emoji_Modifier}\\ufe0f])\\u200d(?=\\p{Extended_Pictographic}))",
    "[\\p{Cc}\\p{Bidi_Control}\\p{Default_Ignorable_Code_Point}\\u2028\\u2029\\ufff9-\\ufffb]",
  ].join(""),
  "gu",
);

/** `1,204` */
export const grouped = (count: number): string => String(count).replace(/\B(?=(\d{3})+$)/g, ",");

/** `1 block`, `1,204 blocks` */
export const counted = (count: number, noun: string): string => `${grouped(count)} ${noun}${count === 1 ? "" : "s"}`;

/** What a block is, in a word or two: `user`, `tool_call weather`, `reasoning`, `web_search_call`. */
export function blockLabel(block: Block): string {
  if (block.kind === "other") return excerpt(block.type, 40);
  return block.kind === "tool_call" ? `tool_call ${excerpt(block.name ?? block.type, 40)}` : block.kind;
}

/** An actor in a word: `shorten-results@1.2.0`, `weather`, `anthropic`, `user`. `describeActor` says more. */
export function actorLabel(actor: Actor): string {
  if (actor.kind === "middleware") return excerpt(`${actor.name}@${actor.version}`, 40);
  if (!("name" in actor)) return actor.kind;
  return excerpt(actor.name, 40);
}

/** An endpoint as its scope begins, provider and place, without who asks: `openai-responses https://api.openai.com/v1`. */
export function endpointLabel(scope: string): string {
  const words = scope.split(" ");
  const end = words.findIndex((word) => word.includes("="));
  return excerpt(words.slice(0, end < 0 ? words.length : Math.max(1, end)).join(" "), 80);
}

/** The beginning of an id that somebody else made, as long as it takes to tell it from others; it names it as well. */
export const shortId = (id: string): string => excerpt(id, 1_000).slice(0, 20);

/**
 * What a block says, as people are shown it: its text, and in brackets on a line of its own each part that is none:
 * `[image: image/png, 4,096 characters]`, `[file: report.pdf]`.
 */
export function shownText(block: Block): string {
  const parts = block.kind === "tool_result" ? resultParts(block.payload["output"]) : block.parts;
  if (parts === null || parts.every((part) => saidIn(part) !== null)) return block.text;
  const lines: string[] = [];
  let said = "";
  for (const part of parts) {
    const text = saidIn(part);
    if (text !== null) said += text;
    else {
      lines.push(...(said === "" ? [] : [said]), partWords(part));
      said = "";
    }
  }
  return [...lines, ...(said === "" ? [] : [said])].join("\n");
}

function partWords({ type, ...members }: JsonObject): string {
  const { url, data, fileId, name, audio } = members;
  const sound = isJsonObject(audio) ? audio : {};
  const told = [name, fileId, sound["format"], ...[url, data].map(addressWords)].filter(
    (each) => typeof each === "string",
  );
  return `[${[typeof type === "string" ? type : "part", ...(told.length === 0 ? [] : [told.join(", ")])].join(": ")}]`;
}

/** An address as it is; of content that stands in the place of one, what it is and how long. */
function addressWords(address: JsonValue | undefined): string | null {
  if (typeof address !== "string") return null;
  const media = /^data:([^;,]*)/.exec(address)?.[1];
  if (media === undefined && /^[a-z][a-z0-9+.-]*:/i.test(address)) return excerpt(address, 160);
  return `${media === undefined || media === "" ? "" : `${media}, `}${counted(address.length, "character")}`;
}

/** Longer than a line of most terminals: the printer cuts it where the terminal's ends. */
export const textLength = 160;
/** What a block says, as the reader of one line gets it. */
export const quote = (block: Block): string => `“${excerpt(shownText(block), textLength)}”`;

/** `1,204 tokens in, 87 out` */
export function costWords(usage: Usage | undefined): string {
  const { inputTokens, outputTokens } = usageOf(usage);
  return `${grouped(inputTokens)} tokens in, ${grouped(outputTokens)} out`;
}
