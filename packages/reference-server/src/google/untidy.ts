import { countsSaid, givenSaid, idSaid, strangersIn, type Untidy, withMember } from "../untidy.ts";
import { isObject, type Json, type JsonObject, objectsOf } from "../wire.ts";

/** Parts in the form of proxies in front of Gemini. */
export const untidyParts = (untidy: Untidy, parts: readonly JsonObject[]): readonly JsonObject[] =>
  parts.map((part) => {
    const { functionCall: call } = part;
    if (!isObject(call)) return part;
    const { args, ...named } = call;
    return {
      ...part,
      functionCall: { ...idSaid(untidy, named, "id"), ...givenSaid(untidy, "args", args, ["tidy", "text"]) },
    };
  });

/** Responses, or the chunks of one: counts in any form, and the end in a separate chunk. */
export function untidyResponses(untidy: Untidy, chunks: readonly JsonObject[]): readonly JsonObject[] {
  const said = chunks.map((chunk) => withMember(chunk, "usageMetadata", countsSaid(untidy, chunk["usageMetadata"])));
  const last = said.at(-1);
  const [candidate] = objectsOf(last?.["candidates"]);
  if (last === undefined || candidate === undefined || chunks.length === 1) return said;
  const { finishReason = null, ...rest } = candidate;
  const end = { ...last, candidates: [{ finishReason, index: 0 }] };
  const apart = [...said.slice(0, -1), { ...last, candidates: [rest], ...strangersIn(untidy) }, end];
  return untidy.pick([said, apart, [...apart.slice(0, 1), { usageMetadata: null, candidates: [] }, ...apart.slice(1)]]);
}

/** The steps of an interaction that is sent as a whole. */
export const untidySteps = (untidy: Untidy, steps: readonly JsonObject[]): readonly JsonObject[] =>
  steps.map((step) => {
    if (step["type"] !== "function_call") return step;
    const { arguments: given, ...named } = step;
    return { ...named, ...givenSaid(untidy, "arguments", given, ["tidy", "text"]) };
  });

/** The beginning of a step in a stream. */
export function untidyBegin(untidy: Untidy, data: JsonObject): JsonObject {
  const { step } = data;
  if (!isObject(step) || step["type"] !== "function_call") return data;
  return { ...data, step: withMember(step, "arguments", untidy.pick<Json | undefined>([{}, null, undefined, ""])) };
}
