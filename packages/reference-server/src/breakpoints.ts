import { invalidValue, type Refusal, unsupportedParameter } from "./refusals.ts";
import { isArray, isObject, type JsonObject, objectsOf, stringOf } from "./wire.ts";

const name = "prompt_cache_breakpoint";

/**
 * The lifetime that an explicit breakpoint at the end of an item asks for, `default` if it names none; undefined without one. One on an
 * earlier part does not count: this server compares items as a whole.
 */
export function breakpointOf({ content }: JsonObject): string | undefined {
  const mark = (isArray(content) ? objectsOf(content) : []).at(-1)?.[name];
  return isObject(mark) ? (stringOf(mark["ttl"]) ?? "default") : undefined;
}

/** The text of an item without its breakpoints, which no model reads. */
export function unmarkedText(item: JsonObject): string {
  const text = JSON.stringify(item);
  const { content } = item;
  if (!isArray(content) || !text.includes(name)) return text;
  return JSON.stringify({ ...item, content: objectsOf(content).map(({ [name]: _, ...part }) => part) });
}

/** What is wrong with the breakpoints of an input, or that the model takes none. */
export function checkBreakpoints(
  input: readonly JsonObject[],
  unsupported: readonly string[] = [],
): Refusal | undefined {
  for (const [index, { content }] of input.entries())
    for (const [at, part] of (isArray(content) ? objectsOf(content) : []).entries()) {
      const mark = part[name];
      if (mark === undefined || mark === null) continue;
      const path = `input[${index}].content[${at}].${name}`;
      if (unsupported.includes(name)) return unsupportedParameter(path);
      const { mode = "", ttl = "30m" } = isObject(mark) ? mark : {};
      if (mode !== "explicit") return invalidValue(`${path}.mode`, stringOf(mode) ?? "", ["explicit"]);
      if (ttl !== "30m" && ttl !== "12h") return invalidValue(`${path}.ttl`, stringOf(ttl) ?? "", ["30m", "12h"]);
    }
  return undefined;
}
