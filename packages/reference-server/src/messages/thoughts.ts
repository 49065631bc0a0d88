import { createHash } from "node:crypto";
import { isArray, type JsonObject, objectsOf, stringOf } from "../wire.ts";
import { unitsOf } from "./prompt-units.ts";
import { said } from "./request.ts";

/** The prefix that a thinking block was produced after. */
interface Binding {
  /** Everything but thinking: tools, system prompt and messages, as the model reads them. */
  readonly read: string;
  /** The signatures of the thinking blocks before it, oldest first. */
  readonly thoughts: readonly string[];
}

/** The signature of a thinking block, under the id of its message: only the server can make it. */
export const signatureOf = (
  seed: string,
  { thinking, id }: { readonly thinking: string; readonly id: string },
): string => `${id}.${createHash("sha256").update(`${seed}:thinking:${id}:${thinking}`).digest("base64")}`;

/**
 * Thinking blocks are accepted if they are unchanged and signed by this server and, if it checks that, come after the prefix that
 * produced them (Anthropic's guide to extended thinking). The oldest may be missing, and cache breakpoints do not count.
 */
export class Thoughts {
  readonly #bindings = new Map<string, Binding>();
  readonly #seed: string;

  constructor(seed: string) {
    this.#seed = seed;
  }

  clear(): void {
    this.#bindings.clear();
  }

  /**
   * A request without the thinking blocks that the model does not read, and what the answer reports about those; or a rejection for the
   * first invalid one.
   *
   * @param options.drops - Drop a thinking block after another prefix than its own, and all that follow it in its turn.
   */
  check(body: JsonObject, { looksAtPrefix, drops }: { readonly looksAtPrefix: boolean; readonly drops: boolean }) {
    const dropped = new Set<string>();
    const thoughts = thoughtsOf(body);
    for (const { path, block, turn } of thoughts) {
      if (dropped.has(path)) continue;
      const signature = stringOf(block["signature"]) ?? "";
      const [id = ""] = signature.split(".");
      if (signature !== signatureOf(this.#seed, { thinking: stringOf(block["thinking"]) ?? "", id }))
        return {
          refusal: said(
            `${path}: \`thinking\` or \`redacted_thinking\` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response.`,
          ),
        };
      const made = this.#bindings.get(signature);
      const now = looksAtPrefix ? placesOf(body, dropped).get(path) : undefined;
      if (made === undefined || now === undefined || isSame(made, now)) continue;
      if (!drops)
        return {
          refusal: said(
            `${path}: Invalid \`signature\` in \`thinking\` block. The block is bound to a different conversation. Remove the block, or set \`thinking.block_binding.prefix_mismatch_behavior\` to "drop_block".`,
          ),
        };
      const from = thoughts.findIndex((each) => each.path === path);
      for (const each of thoughts.slice(from)) if (each.turn === turn) dropped.add(each.path);
    }
    return { read: without(body, dropped), transformations: [...dropped].map(transformationOf) };
  }

  /** Binds the thinking blocks of an answer to what was read for it, and to the part of the answer before them. */
  bind(body: JsonObject, content: readonly JsonObject[]): void {
    const messages = [...objectsOf(body["messages"]), { role: "assistant", content }];
    const places = placesOf({ ...body, messages });
    for (const [index, block] of content.entries()) {
      const place = places.get(`messages.${messages.length - 1}.content.${index}`);
      if (block["type"] === "thinking" && place !== undefined)
        this.#bindings.set(stringOf(block["signature"]) ?? "", place);
    }
  }
}

const transformationOf = (path: string): JsonObject => ({
  ...{ type: "thinking_dropped", path, reason: "prefix_binding_mismatch" },
});

/** The thinking blocks of a request, each with its turn of the model: a turn continues after results. */
function thoughtsOf(
  body: JsonObject,
): readonly { readonly path: string; readonly block: JsonObject; readonly turn: number }[] {
  let turn = 0;
  return objectsOf(body["messages"]).flatMap(({ role, content }, at) => {
    const blocks = objectsOf(content);
    if (role !== "assistant" && (blocks.length === 0 || blocks.some(({ type }) => type !== "tool_result"))) turn += 1;
    return blocks.flatMap((block, index) =>
      block["type"] === "thinking" ? [{ path: `messages.${at}.content.${index}`, block, turn }] : [],
    );
  });
}

/** A request without the blocks at these places. */
function without(body: JsonObject, paths: ReadonlySet<string>): JsonObject {
  if (paths.size === 0) return body;
  const messages = objectsOf(body["messages"]).map((message, at) => {
    const { content = null } = message;
    const isLeft = (_: unknown, index: number): boolean => !paths.has(`messages.${at}.content.${index}`);
    return isArray(content) ? { ...message, content: content.filter(isLeft) } : message;
  });
  return { ...body, messages };
}

/** The prefix of each thinking block in a request, by its path. */
function placesOf(body: JsonObject, dropped: ReadonlySet<string> = new Set()): ReadonlyMap<string, Binding> {
  const places = new Map<string, Binding>();
  const thoughts: string[] = [];
  let read = "";
  const units = unitsOf(body);
  for (const { text, block, path } of units) {
    if (dropped.has(path)) continue;
    if (block["type"] === "thinking") {
      places.set(path, { read, thoughts: [...thoughts] });
      thoughts.push(stringOf(block["signature"]) ?? "");
    } else read = createHash("sha256").update(read).update("\0").update(text).digest("base64");
  }
  return places;
}

function isSame(made: Binding, now: Binding): boolean {
  const kept = made.thoughts.slice(made.thoughts.length - Math.min(now.thoughts.length, made.thoughts.length));
  return made.read === now.read && kept.join() === now.thoughts.join();
}
