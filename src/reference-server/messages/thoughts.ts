import { createHash } from "node:crypto";
import type { Refusal } from "../refusals.ts";
import { type JsonObject, objectsOf, stringOf } from "../wire.ts";
import { unitsOf } from "./prompt-cache.ts";
import { said } from "./request.ts";

/** What a thought was made behind. */
interface Binding {
  /** All but thoughts: tools, system prompt and messages, as they are read. */
  readonly read: string;
  /** The signatures of the thoughts before it, oldest first. */
  readonly thoughts: readonly string[];
}

/** What only the server can make: the seal of a thought, under the id of its message. */
export const signatureOf = (
  seed: string,
  { thinking, id }: { readonly thinking: string; readonly id: string },
): string => `${id}.${createHash("sha256").update(`${seed}:thinking:${id}:${thinking}`).digest("base64")}`;

/**
 * Thoughts are taken back as they were given, with the seal that the server gave them; and, where it looks at that, behind
 * what they were made behind (Anthropic's guide to extended thinking). The oldest thoughts may be missing, and no mark for the cache counts.
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

  /** Why the thoughts of a request are refused, the first that is. */
  refusalOf(body: JsonObject, { looksAtPrefix }: { readonly looksAtPrefix: boolean }): Refusal | undefined {
    const places = looksAtPrefix ? placesOf(body) : new Map<string, Binding>();
    for (const [at, message] of objectsOf(body["messages"]).entries())
      for (const [index, block] of objectsOf(message["content"]).entries()) {
        if (block["type"] !== "thinking") continue;
        const signature = stringOf(block["signature"]) ?? "";
        const [id = ""] = signature.split(".");
        const path = `messages.${at}.content.${index}`;
        if (signature !== signatureOf(this.#seed, { thinking: stringOf(block["thinking"]) ?? "", id }))
          return said(
            `${path}: \`thinking\` or \`redacted_thinking\` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response.`,
          );
        const [made, now] = [this.#bindings.get(signature), places.get(path)];
        if (made !== undefined && now !== undefined && !isSame(made, now))
          return said(
            `${path}: Invalid \`signature\` in \`thinking\` block. The block is bound to a different conversation. Remove the block, or set \`thinking.block_binding.prefix_mismatch_behavior\` to "drop_block".`,
          );
      }
    return undefined;
  }

  /** Binds the thoughts of an answer to what was read for it, and to what the answer says before them. */
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

/** What stands before each thought of a request, by its path. */
function placesOf(body: JsonObject): ReadonlyMap<string, Binding> {
  const places = new Map<string, Binding>();
  const thoughts: string[] = [];
  let read = "";
  const units = unitsOf(body);
  for (const { text, block, path } of units) {
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
