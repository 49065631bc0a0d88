import { type Difference, firstDifference, type ReadPrompt } from "./cache/diagnosis.ts";
import type { Link } from "./contexts.ts";
import { headOfPrompt } from "./link-places.ts";
import type { Memory } from "./memory.ts";
import { invalidType, type Refusal } from "./refusals.ts";
import { isObject, type JsonObject, stringOf, valueAt } from "./wire.ts";

const asked = (body: JsonObject) => valueAt(body, "prompt_cache_options.comparison_response_id");

/** What is wrong with the id of the response to compare with. */
export function checkComparison(body: JsonObject): Refusal | undefined {
  const id = asked(body);
  if (!isObject(body["prompt_cache_options"]) || id === null || typeof id === "string") return undefined;
  return invalidType("prompt_cache_options.comparison_response_id", "a string", typeof id);
}

/**
 * What an answer says of its prompt (`prompt_cache_diagnostics` of openai 7.57.0); undefined if the request does not ask. No documentation
 * says what an equal prompt gets whose entry is gone, nor whether an unstored response can be named: here `unavailable`, and yes.
 */
export function diagnosisOf(
  memory: Memory,
  request: { readonly body: JsonObject; readonly before: Link },
  read: number,
): JsonObject | undefined {
  const id = stringOf(asked(request.body));
  if (id === undefined) return undefined;
  const held = memory.responses.get(id);
  if (held?.before === undefined) return { type: "comparison_response_not_found" };
  const earlier = promptOf(memory, { body: held.head.body, before: held.before });
  const difference = firstDifference(memory.prompts.facts, earlier, promptOf(memory, request));
  if (difference === null) return { type: read > 0 ? "cache_hit" : "unavailable" };
  return missed(difference);
}

const promptOf = (
  { linkPlaces, prompts }: Memory,
  { body, before }: { readonly body: JsonObject; readonly before: Link },
): ReadPrompt => ({ body, places: linkPlaces.of(before, headOfPrompt(prompts, body)) });

function missed({ what, lost, shared }: Difference): JsonObject {
  const reason = reasons.get(what);
  if (reason === undefined) return { type: "unavailable" };
  return { type: "cache_miss", reason, cache_missed_tokens: lost, comparison_reusable_tokens: shared };
}

const reasons: ReadonlyMap<string, string> = new Map([
  ["model", "model_changed"],
  ["prompt_cache_key", "prompt_cache_key_changed"],
  ["service_tier", "service_tier_changed"],
  ["text.format", "text_format_changed"],
  ["text.verbosity", "verbosity_changed"],
  ["reasoning.effort", "reasoning_effort_changed"],
  ["tool", "tools_changed"],
  ["system", "input_changed"],
  ["message", "input_changed"],
]);
