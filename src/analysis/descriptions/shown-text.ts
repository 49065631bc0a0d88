import { counted } from "../../base/counted.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../base/json.ts";
import { excerpt } from "../../base/printable.ts";
import type { Block } from "../../domain/block.ts";
import { resultParts, saidIn } from "../../domain/message-content.ts";

/**
 * A block's content as people see it: its text, and each other part in brackets on its own line:
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

/** An address unchanged; for content in place of one, its type and length. */
function addressWords(address: JsonValue | undefined): string | null {
  if (typeof address !== "string") return null;
  const media = /^data:([^;,]*)/.exec(address)?.[1];
  if (media === undefined && /^[a-z][a-z0-9+.-]*:/i.test(address)) return excerpt(address, 160);
  return `${media === undefined || media === "" ? "" : `${media}, `}${counted(address.length, "character")}`;
}

/** Longer than a line of most terminals: the printer cuts it at the terminal's width. */
export const textLength = 160;
/** A block's content in one line. */
export const quote = (block: Block): string => `“${excerpt(shownText(block), textLength)}”`;
