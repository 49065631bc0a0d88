import { dropOldest } from "../cache/by-place.ts";
import { firstDifference, type ReadPrompt } from "../cache/diagnosis.ts";
import type { CacheFacts } from "../cache/facts.ts";
import type { Refusal } from "../refusals.ts";
import { isObject, type Json, type JsonObject, stringOf } from "../wire.ts";
import { said } from "./request.ts";

/** Compares prompts with earlier ones if a request asks for that (`diagnostics`): only requests that asked are known. */
export class Diagnoses {
  readonly #facts: CacheFacts;
  readonly #prompts = new Map<string, ReadPrompt>();

  constructor(facts: CacheFacts) {
    this.#facts = facts;
  }

  clear(): void {
    this.#prompts.clear();
  }

  refusalOf({ diagnostics }: JsonObject): Refusal | undefined {
    if (diagnostics === undefined) return undefined;
    const id = isObject(diagnostics) ? diagnostics["previous_message_id"] : undefined;
    if (id === null || typeof id === "string") return undefined;
    return said("diagnostics.previous_message_id: Input should be a valid string");
  }

  /** What the message with this id says of its prompt; nothing if the request did not ask. */
  of(id: string, prompt: ReadPrompt): { readonly diagnostics?: Json } {
    const { diagnostics } = prompt.body;
    if (!isObject(diagnostics)) return {};
    const earlier = stringOf(diagnostics["previous_message_id"]);
    const known = this.#prompts.get(earlier ?? "");
    this.#prompts.set(id, prompt);
    dropOldest(this.#prompts, maxKept);
    if (earlier === undefined) return { diagnostics: null };
    if (known === undefined) return { diagnostics: { cache_miss_reason: { type: "previous_message_not_found" } } };
    const difference = firstDifference(this.#facts, known, prompt);
    if (difference === null) return { diagnostics: null };
    const type = types.get(difference.what);
    if (type === undefined) return { diagnostics: { cache_miss_reason: { type: "unavailable" } } };
    return { diagnostics: { cache_miss_reason: { type, cache_missed_input_tokens: difference.lost } } };
  }
}

const maxKept = 500;

/** Anthropic's page on cache diagnostics: other members are `unavailable`. */
const types: ReadonlyMap<string, string> = new Map([
  ["model", "model_changed"],
  ["speed", "model_changed"],
  ["tool", "tools_changed"],
  ["system", "system_changed"],
  ["message", "messages_changed"],
]);
