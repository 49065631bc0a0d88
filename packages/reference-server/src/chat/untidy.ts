import { countsSaid, givenSaid, strangersIn, type Untidy, withMember } from "../untidy.ts";
import { isObject, type Json, type JsonObject, objectsOf } from "../wire.ts";

/** A completion in the form of servers that are less strict than OpenAI's. */
export function untidyBody(untidy: Untidy, body: JsonObject): JsonObject {
  const choices = objectsOf(body["choices"]).map((choice) => {
    const { message } = choice;
    return isObject(message) ? { ...choice, message: messageSaid(untidy, message) } : choice;
  });
  return withMember({ ...body, choices, ...strangersIn(untidy) }, "usage", countsSaid(untidy, body["usage"]));
}

function messageSaid(untidy: Untidy, message: JsonObject): JsonObject {
  const { content = null, tool_calls: calls } = message;
  const said = withMember(message, "content", contentSaid(untidy, content));
  if (calls === undefined) return untidy.pick([said, { ...said, tool_calls: null }, { ...said, tool_calls: [] }]);
  const all = objectsOf(calls).map((call) => {
    const { function: called } = call;
    if (!isObject(called)) return call;
    const { arguments: given, ...named } = called;
    return { ...call, function: { ...named, ...givenSaid(untidy, "arguments", given, ["tidy", "object"]) } };
  });
  return { ...said, tool_calls: all };
}

function contentSaid(untidy: Untidy, content: Json): Json | undefined {
  if (content === null) return untidy.pick<Json | undefined>([null, "", undefined]);
  return typeof content === "string" ? untidy.pick<Json>([content, [{ type: "text", text: content }]]) : content;
}

/** The same for the chunks of a stream: indexes of calls all 0, texts or absent, and usage in every chunk, or in none. */
export function untidyChunks(untidy: Untidy, chunks: readonly JsonObject[]): readonly JsonObject[] {
  const indexes = untidy.pick(["tidy", "zero", "absent", "null", "text"] as const);
  const usage = untidy.pick(["tidy", "null", "late"] as const);
  const said = chunks.map((chunk) => {
    const choices = objectsOf(chunk["choices"]).map((choice) => {
      const { delta } = choice;
      if (!isObject(delta) || delta["tool_calls"] === undefined) return choice;
      const calls = objectsOf(delta["tool_calls"]).map((piece) => pieceSaid(untidy, indexes, piece));
      return { ...choice, delta: { ...delta, tool_calls: calls } };
    });
    const more = usage === "null" && chunk["usage"] === undefined ? { usage: null } : {};
    return { ...chunk, ...more, choices };
  });
  const empty = { ...said[0], choices: [], ...strangersIn(untidy) };
  return untidy.pick([said, [...said.slice(0, 1), empty, ...said.slice(1)], [...said, { ...empty, usage: null }]]);
}

function pieceSaid(
  untidy: Untidy,
  indexes: "tidy" | "zero" | "absent" | "null" | "text",
  { index = 0, ...piece }: JsonObject,
): JsonObject {
  const { function: called } = piece;
  const isBeginning = piece["id"] !== undefined && isObject(called) && called["arguments"] === "";
  const begun =
    isBeginning && isObject(called)
      ? withMember(called, "arguments", untidy.pick<Json | undefined>(["", null, undefined]))
      : called;
  const said = {
    ...(piece["id"] === undefined ? untidy.pick<JsonObject>([{}, { id: "" }, { id: null }]) : {}),
    ...piece,
  };
  const whole = begun === undefined ? said : { ...said, function: begun };
  switch (indexes) {
    case "zero":
      return { index: 0, ...whole };
    case "absent":
      return whole;
    case "null":
      return { index: null, ...whole };
    case "text":
      return { index: JSON.stringify(index), ...whole };
    case "tidy":
      return { index, ...whole };
  }
}
