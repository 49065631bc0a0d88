import { editsBytes } from "./diff-turns.ts";
import { contentId, type Edit } from "./edits.ts";

/** About how many characters of edits one event takes: so few that none of their texts has to be stored apart. */
const maxPartBytes = 64 * 1024;

/** Edits as several events carry them, where they are too much for one: each part applies to what the one before made. */
export function cutEdits(edits: readonly Edit[]): readonly (readonly Edit[])[] {
  if (editsBytes(edits) <= maxPartBytes) return [edits];
  const parts: Edit[][] = [];
  let bytes = 0;
  for (const edit of edits.flatMap(oneByOne)) {
    const size = editsBytes([edit]);
    const part = parts.at(-1);
    if (part === undefined || bytes + size > maxPartBytes) {
      parts.push([edit]);
      bytes = size;
    } else {
      part.push(edit);
      bytes += size;
    }
  }
  return parts;
}

/** The same change of one block at a time. */
function oneByOne(edit: Edit): readonly Edit[] {
  if (edit.op === "remove") return edit.blockIds.map((id) => ({ op: "remove", blockIds: [id] }));
  if (edit.op !== "insert") return [edit];
  let { after } = edit;
  return edit.blocks.map((content) => {
    const single: Edit = { op: "insert", after, blocks: [content] };
    after = contentId(content);
    return single;
  });
}
