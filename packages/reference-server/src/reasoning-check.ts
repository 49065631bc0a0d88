import { sealedItemId } from "./ciphertext.ts";
import { sinceCompaction } from "./compacting.ts";
import { itemsOf, type Link } from "./contexts.ts";
import type { DialectOptions } from "./options.ts";
import { readItems } from "./readings.ts";
import { badReasoning, type Refusal } from "./refusals.ts";
import { instructionsOf } from "./request-schema.ts";
import { isObject, type JsonObject, objectsOf, stringOf, typeOf } from "./wire.ts";

/** The prefix that a reasoning item was produced after, and to which it is bound. */
export interface ReasoningBinding {
  readonly model: string;
  /** Instructions, tools and all items before it but reasoning, as a model reads them. */
  readonly read: string;
  /** The reasoning before it, oldest first. */
  readonly reasoning: readonly string[];
}

/** A reasoning item that the model does not get, and why. */
export interface Withheld {
  readonly id: string;
  readonly reason: "model_mismatch" | "prefix_mismatch" | "turn_boundary";
}

/**
 * Which reasoning of a context a server that checks reasoning withholds. It never reads another model's reasoning, nor that of
 * earlier turns if the request asks only for the current one. It accepts an item only after the prefix that produced it: the
 * instructions, the tools and every item. The oldest reasoning may be missing. A model's own
 * words and call ids are compared as the model reads them.
 */
export function checkReasoning(
  context: Link,
  body: JsonObject,
  { bindings, checksReasoning }: Pick<DialectOptions, "checksReasoning"> & Bound,
): { readonly withheld: readonly Withheld[] } | { readonly refusal: Refusal } {
  const withheld: Withheld[] = [];
  if (checksReasoning === undefined) return { withheld };
  const items = itemsOf(context);
  for (const [at, item] of items.entries()) {
    const id = typeOf(item) === "reasoning" ? reasoningId(item) : undefined;
    const made = id === undefined ? undefined : bindings.get(id);
    if (id === undefined || made === undefined) continue;
    const reason = mismatch(made, items, { at, body });
    if (reason === "prefix_mismatch" && checksReasoning === "refuses") return { refusal: badReasoning(id) };
    if (reason !== undefined) withheld.push({ id, reason });
  }
  return { withheld };
}

interface Bound {
  readonly bindings: ReadonlyMap<string, ReasoningBinding>;
}

/** Binds the reasoning of an output to the prefix before it. */
export function bindReasoning(
  bindings: Map<string, ReasoningBinding>,
  {
    before,
    output,
    body,
  }: { readonly before: Link; readonly output: readonly JsonObject[]; readonly body: JsonObject },
): void {
  const items = [...itemsOf(before), ...output];
  for (const [place, item] of output.entries()) {
    const id = stringOf(item["id"]);
    if (typeOf(item) !== "reasoning" || id === undefined) continue;
    bindings.set(id, bindingAt(items, { at: items.length - output.length + place, body }));
  }
}

interface Place {
  readonly at: number;
  readonly body: JsonObject;
}

function bindingAt(items: readonly JsonObject[], { at, body }: Place): ReasoningBinding {
  const before = sinceCompaction(items.slice(0, at));
  const settings = { instructions: instructionsOf(body), tools: objectsOf(body["tools"]) };
  const others = before.filter((item) => typeOf(item) !== "reasoning");
  return {
    model: stringOf(body["model"]) ?? "",
    read: readItems(others, settings).join("\n"),
    reasoning: before.flatMap((item) => (typeOf(item) === "reasoning" ? [reasoningId(item) ?? ""] : [])),
  };
}

function mismatch(
  made: ReasoningBinding,
  items: readonly JsonObject[],
  { at, body }: Place,
): Withheld["reason"] | undefined {
  const now = bindingAt(items, { at, body });
  if (now.model !== made.model) return "model_mismatch";
  const lastUser = items.findLastIndex((item) => typeOf(item) === "message" && item["role"] === "user");
  const asked = body["reasoning"];
  if (isObject(asked) && asked["context"] === "current_turn" && at < lastUser) return "turn_boundary";
  const newest = made.reasoning.slice(made.reasoning.length - Math.min(now.reasoning.length, made.reasoning.length));
  const isSame = now.read === made.read && newest.join() === now.reasoning.join();
  return isSame ? undefined : "prefix_mismatch";
}

/** Whether an item is withheld from the model. */
export const isWithheld = (item: JsonObject, withheld: readonly Withheld[]): boolean =>
  typeOf(item) === "reasoning" && withheld.some(({ id }) => id === reasoningId(item));

/** The content of `input_transformations`; if a fault gives a `reason`, for all reasoning. */
export function transformationsOf(
  { before, withheld }: { readonly before: Link; readonly withheld: readonly Withheld[] },
  reason?: string,
): readonly JsonObject[] {
  const told = { type: "reasoning", action: "removed" };
  if (reason === undefined) return withheld.map((one) => ({ ...told, ...one }));
  const all = itemsOf(before).filter((item) => typeOf(item) === "reasoning");
  return all.map((item) => ({ ...told, id: item["id"] ?? null, reason }));
}

/** The id under which the server issued a reasoning item, even if it is sent back without it. */
function reasoningId(item: JsonObject): string | undefined {
  return stringOf(item["id"]) ?? sealedItemId(stringOf(item["encrypted_content"]) ?? "");
}
