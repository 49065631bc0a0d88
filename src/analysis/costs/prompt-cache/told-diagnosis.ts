import { type JsonObject, type JsonValue, objectOf, textOrNull } from "../../../base/json.ts";

/** What a vendor says of a prompt, compared with that of an earlier answer. */
export type CacheDiagnosis = {
  /** `same`: nothing differs; `changed`: `reason` does; `not-found`: it does not know the answer; `unavailable`: it cannot say. */
  readonly says: "same" | "changed" | "not-found" | "unavailable";
  /** What differs first, in the vendor's own word (`tools_changed`). */
  readonly reason: string | null;
  /** About how many tokens of the earlier prompt cannot be read again, and how many can. */
  readonly lostTokens: number | null;
  readonly reusableTokens: number | null;
};

/**
 * The diagnosis in an answer; null if it has none.
 *
 * @param family - The family of the codec.
 * @param members - The members of the answer as it came, its content aside.
 */
export function diagnosisIn(family: string, members: JsonObject): CacheDiagnosis | null {
  if (family === "openai-responses") return ofOpenai(members["prompt_cache_diagnostics"]);
  return family === "anthropic-messages" ? ofAnthropic(members["diagnostics"]) : null;
}

/** OpenAI's types of the Responses API (openai 7.57.0, `prompt_cache_diagnostics`). */
function ofOpenai(given: JsonValue | undefined): CacheDiagnosis | null {
  const { type, reason, cache_missed_tokens: lost, comparison_reusable_tokens: reusable } = objectOf(given);
  const tokens = { lostTokens: numberOrNull(lost), reusableTokens: numberOrNull(reusable) };
  if (type === "cache_hit") return { ...said("same"), ...tokens };
  if (type === "cache_miss") return { ...said("changed", textOrNull(reason)), ...tokens };
  if (type === "comparison_response_not_found") return said("not-found");
  return type === undefined ? null : said("unavailable");
}

/** Anthropic's page on cache diagnostics. Null is "no divergence"; a reason of null is one that is not known yet. */
function ofAnthropic(given: JsonValue | undefined): CacheDiagnosis | null {
  if (given === undefined) return null;
  if (given === null) return said("same");
  const { type, cache_missed_input_tokens: lost } = objectOf(objectOf(given)["cache_miss_reason"]);
  if (type === "previous_message_not_found") return said("not-found");
  if (typeof type !== "string" || type === "unavailable") return said("unavailable");
  return { ...said("changed", type), lostTokens: numberOrNull(lost) };
}

const said = (says: CacheDiagnosis["says"], reason: string | null = null): CacheDiagnosis => ({
  ...{ says, reason, lostTokens: null, reusableTokens: null },
});

const numberOrNull = (value: JsonValue | undefined): number | null => (typeof value === "number" ? value : null);
