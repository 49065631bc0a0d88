import { type PromptUnit, unitOf } from "../cache/prompt.ts";
import { isObject, type Json, type JsonObject, objectsOf, stringOf } from "../wire.ts";

/** A tool or content block of a prompt, in reading order, and its cache breakpoint. Breakpoints are not part of its text. */
export interface BlockUnit extends PromptUnit {
  readonly block: JsonObject;
  readonly mark: JsonObject | undefined;
}

/** The units of a prompt. A string is one text block. A breakpoint of the request as a whole is that of its last block that can have one. */
export function unitsOf(body: JsonObject): readonly BlockUnit[] {
  const units = [
    ...objectsOf(body["tools"]).map((block, n) => blockUnit("tool", block, { path: `tools.${n}`, role: null })),
    ...listed(body["system"]).map((block, n) => blockUnit("system", block, { path: `system.${n}`, role: null })),
    ...objectsOf(body["messages"]).flatMap(({ role = null, content }, at) =>
      listed(content).map((block, n) => blockUnit("message", block, { path: `messages.${at}.content.${n}`, role })),
    ),
  ];
  const automatic = body["cache_control"];
  const last = units.findLastIndex(({ block }) => !/thinking$/.test(stringOf(block["type"]) ?? ""));
  return units.map((unit, at) => {
    const own = unit.block["cache_control"];
    const mark = isObject(own) ? own : at === last && isObject(automatic) ? automatic : undefined;
    return { ...unit, mark, breakpoint: mark === undefined ? undefined : (stringOf(mark["ttl"]) ?? "5m") };
  });
}

/** Whether a message contains an image: Anthropic caches messages anew when the first is added, and when the last is removed. */
export const hasImages = ({ messages }: JsonObject): boolean =>
  objectsOf(messages).some(({ content }) =>
    listed(content).some((block) => [block, ...listed(block["content"])].some(({ type }) => type === "image")),
  );

const listed = (content: Json | undefined): readonly JsonObject[] =>
  typeof content === "string" ? [{ type: "text", text: content }] : objectsOf(content);

function blockUnit(
  kind: "tool" | "system" | "message",
  block: JsonObject,
  { path, role }: { readonly path: string; readonly role: Json },
): Omit<BlockUnit, "mark"> {
  const { cache_control: _, ...read } = block;
  const by = runs.get(stringOf(block["type"]) ?? "");
  return { ...unitOf(kind, path, JSON.stringify([role, read])), block, by };
}

const runs: ReadonlyMap<string, PromptUnit["by"]> = new Map([
  ["tool_use", "call"],
  ["tool_result", "result"],
]);
