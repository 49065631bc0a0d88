import type { Actor } from "../domain/actor.ts";
import type { Block } from "../domain/block.ts";

/** How views put things into words. */

/** A text on one line, without anything that a terminal obeys, cut at so many characters. */
export function excerpt(text: string, length: number): string {
  // More than is shown, so that a long text costs no more than a short one.
  const line = printable(text.slice(0, length * 4))
    .replace(/\s+/gu, " ")
    .trim();
  const characters = Array.from(line);
  const isWhole = characters.length <= length && text.length <= length * 4;
  return isWhole ? line : `${characters.slice(0, length - 1).join("")}…`;
}

/** A text whose control and direction characters are blanks; line feeds and tabs stay. */
export const printable = (text: string): string => text.replace(/(?![\n\t])[\p{Cc}\p{Bidi_Control}]/gu, " ");

/** `1,204` */
export const grouped = (count: number): string => String(count).replace(/\B(?=(\d{3})+$)/g, ",");

/** `1 block`, `1,204 blocks` */
export const counted = (count: number, noun: string): string => `${grouped(count)} ${noun}${count === 1 ? "" : "s"}`;

/** What a block is, in a word or two: `user`, `tool_call weather`, `reasoning`, `web_search_call`. */
export function blockLabel(block: Block): string {
  if (block.kind === "other") return excerpt(block.itemType, 40);
  return block.kind === "tool_call" ? `tool_call ${excerpt(block.name ?? block.itemType, 40)}` : block.kind;
}

/** An actor in a word: `shorten-results@1.2.0`, `weather`, `user`. `describeActor` says more. */
export function actorLabel(actor: Actor): string {
  if (actor.kind === "middleware") return excerpt(`${actor.name}@${actor.version}`, 40);
  if (actor.kind === "provider" || !("name" in actor)) return actor.kind;
  return excerpt(actor.name, 40);
}

/** The beginning of an id that somebody else made, as long as it takes to tell it from others; it names it as well. */
export const shortId = (id: string): string => excerpt(id, 1_000).slice(0, 20);
