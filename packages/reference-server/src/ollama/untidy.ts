import { givenSaid, idSaid, strangersIn, type Untidy, withMember } from "../untidy.ts";
import { isObject, type Json, type JsonObject, objectsOf } from "../wire.ts";

/** A message in the form of servers that imitate Ollama: a call without an id, arguments as text or absent. */
export function untidyMessage(untidy: Untidy, message: JsonObject): JsonObject {
  const { tool_calls: calls, content = "" } = message;
  const said = withMember(
    message,
    "content",
    content === "" ? untidy.pick<Json | undefined>(["", null, undefined]) : content,
  );
  if (calls === undefined) return untidy.pick([said, { ...said, tool_calls: null }]);
  const all = objectsOf(calls).map((call) => {
    const { function: called } = call;
    if (!isObject(called)) return call;
    const { arguments: given, ...named } = called;
    return {
      ...idSaid(untidy, call, "id"),
      function: { ...named, ...givenSaid(untidy, "arguments", given, ["tidy", "text"]) },
    };
  });
  return { ...said, tool_calls: all };
}

/** The last line: counts as texts, null or absent, and no reason, as in servers before 0.3. */
export function untidyEnd(untidy: Untidy, end: JsonObject): JsonObject {
  const counts = Object.entries(end).filter(([name]) => /_(count|duration)$/.test(name));
  const form = untidy.pick(["tidy", "texts", "null", "absent"] as const);
  const said = Object.fromEntries(
    counts.map(([name, value]) => [name, form === "texts" ? JSON.stringify(value) : form === "null" ? null : value]),
  );
  const rest = Object.fromEntries(Object.entries(end).filter(([name]) => !/_(count|duration)$/.test(name)));
  const stopped =
    rest["done_reason"] === "stop" ? untidy.pick([rest, withMember(rest, "done_reason", undefined)]) : rest;
  return { ...stopped, ...(form === "absent" ? {} : said), ...strangersIn(untidy) };
}
