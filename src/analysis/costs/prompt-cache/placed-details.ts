import { type JsonObject, type JsonValue, listOf } from "../../../base/json.ts";

/** The details of a request, and how many blocks the server held before those that it sent. */
export type PlacedDetails = { readonly before: number; readonly details: JsonObject | undefined };

/**
 * The details of a request as in a body that sends everything, from those of the requests that it continues from, itself the last.
 * Anthropic's breakpoints (`cache`) count for one request; OpenAI's (`breakpoints`) are part of what the server holds.
 */
export function detailsOfWhole(parts: readonly PlacedDetails[]): JsonObject | undefined {
  const last = parts.at(-1);
  const marked = last?.details?.["cache"] === undefined ? [] : [last];
  const explicit = parts.filter(({ details }) => details?.["breakpoints"] !== undefined);
  if (last?.details === undefined && explicit.length === 0) return undefined;
  return {
    ...last?.details,
    ...(marked.length === 0 ? {} : { cache: placesIn(marked, "cache") }),
    ...(explicit.length === 0 ? {} : { breakpoints: placesIn(explicit, "breakpoints") }),
  };
}

/** 0 is after the beginning of the prompt, wherever the blocks are. */
const placesIn = (parts: readonly PlacedDetails[], name: string): readonly JsonValue[] =>
  parts.flatMap(({ before, details }) =>
    listOf(details?.[name]).map((place) => (typeof place === "number" && place > 0 ? before + place : place)),
  );
