import { type JsonObject, objectsOf, textOrNull } from "../../base/json.ts";
import type { Block } from "../../domain/block.ts";
import { type CallStates, callChunks } from "./call-states.ts";
import type { ToolState, WholeChunk } from "./ui-chunk.ts";

/** A part of an answer. What is `open` still arrives. */
export type UiPart =
  | { readonly kind: "text" | "reasoning"; readonly text: string; readonly isOpen: boolean }
  | {
      readonly kind: "tool";
      readonly id: string;
      readonly name: string;
      /** The arguments so far, while they arrive; null once the call is whole. */
      readonly arriving: string | null;
      readonly states: readonly ToolState[];
    }
  | { readonly kind: "whole"; readonly chunk: WholeChunk };

/** What one answer of the model brought, with the results of its calls. */
export type UiStep = readonly UiPart[];

/** An answer as a page shows it: everything between two messages of the user. Only parts of the last step can be open. */
export type UiAnswer = { readonly id: string; readonly steps: readonly UiStep[] };

/**
 * The steps of an answer's blocks. A step begins with the first block of another response; results belong to their calls.
 *
 * @param resultOf - The block that answers a call, wherever it is.
 */
export function stepsOf(
  blocks: readonly Block[],
  calls: CallStates,
  resultOf: (call: Block) => Block | null,
): readonly UiStep[] {
  const groups: Block[][] = [];
  let last: string | null = null;
  for (const block of blocks) {
    if (block.kind === "tool_result") {
      // Blocks without a response of their own, such as imported ones, are separated by the results between them.
      if (last === appended) last = null;
      continue;
    }
    const origin = originOf(block);
    if (origin !== last) groups.push([]);
    groups.at(-1)?.push(block);
    last = origin;
  }
  return groups.map((group) => stepOf(group, calls, resultOf)).filter((step) => step.length > 0);
}

const appended = "";

/** The run and the frame in which a block was made. */
const originOf = ({ id }: Block): string =>
  id?.startsWith("run_") === true ? id.slice(0, id.lastIndexOf("/")) : appended;

/** Files and sources come after what streams, so that a page that saw the text arrive needs nothing again. */
function stepOf(blocks: readonly Block[], calls: CallStates, resultOf: (call: Block) => Block | null): UiStep {
  const streamed = blocks.flatMap((block): readonly UiPart[] => {
    if (block.kind === "tool_call") {
      const states = callChunks(block, calls, resultOf(block));
      return [{ kind: "tool", id: block.id ?? "", name: block.name ?? block.type, arriving: null, states }];
    }
    const kind = block.kind === "reasoning" ? "reasoning" : "text";
    const isShown = block.kind !== "other" && block.text !== "";
    return isShown ? [{ kind, text: block.text, isOpen: false }] : [];
  });
  return [...streamed, ...blocks.flatMap(wholeParts)];
}

const wholeParts = (block: Block): readonly UiPart[] => {
  if (block.kind === "other") return otherChunks(block).map((chunk) => ({ kind: "whole", chunk }));
  if (block.kind !== "assistant") return [];
  return block.parts.flatMap(partChunks).map((chunk) => ({ kind: "whole", chunk }));
};

/** Items that only their provider understands: an image is a file, and of others the page learns the type. */
function otherChunks(block: Block): readonly WholeChunk[] {
  const { result } = block.payload;
  if (block.type === "image_generation_call" && typeof result === "string")
    return [{ type: "file", mediaType: "image/png", url: `data:image/png;base64,${result}` }];
  return [{ type: "custom", kind: `turnlog.${block.type}` }];
}

function partChunks(part: JsonObject): readonly WholeChunk[] {
  const file = fileChunk(part);
  if (file !== null) return [file];
  return objectsOf(part["annotations"]).flatMap((annotation): readonly WholeChunk[] => {
    const [url, title, id] = ["url", "title", "file_id"].map((name) => textOrNull(annotation[name]));
    if (annotation["type"] === "url_citation" && url != null)
      return [{ type: "source-url", sourceId: url, url, ...(title == null ? {} : { title }) }];
    const name = textOrNull(annotation["filename"]);
    if (annotation["type"] !== "file_citation" || id == null) return [];
    const named = name === null ? {} : { filename: name };
    return [
      { type: "source-document", sourceId: id, mediaType: "application/octet-stream", title: name ?? id, ...named },
    ];
  });
}

/** An image or a file of a message that has an address a page can load; null for other parts. */
export function fileChunk(part: JsonObject): (WholeChunk & { readonly type: "file" }) | null {
  const { type, url, data } = part;
  const address = type === "image" ? url : type === "file" ? (data ?? url) : null;
  if (typeof address !== "string") return null;
  const [, stated] = /^data:([^;,]+)/.exec(address) ?? [];
  const mediaType = stated ?? (type === "image" ? "image/*" : "application/octet-stream");
  return { type: "file", mediaType, url: address };
}
