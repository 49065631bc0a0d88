import { countsSaid, givenSaid, strangersIn, type Untidy, withMember } from "../untidy.ts";
import { isObject, type Json, type JsonObject, objectsOf } from "../wire.ts";

/** The lines of an answer as other versions of the CLI print them: unknown members and kinds of lines, counts in other forms. */
export function untidyLines(untidy: Untidy, lines: readonly JsonObject[]): readonly JsonObject[] {
  const strangers = untidy.pick<readonly JsonObject[]>([
    [],
    [{ type: "system", subtype: "status", status: null }],
    [{ type: "unheard_of", message: null }],
    [{ type: "system", subtype: "thinking_tokens", tokens: 3 }],
  ]);
  const said = lines.map((line) => lineSaid(untidy, line));
  return [...said.slice(0, 1), ...strangers, ...said.slice(1)];
}

function lineSaid(untidy: Untidy, line: JsonObject): JsonObject {
  const { message } = line;
  const said = { ...withMember(line, "uuid", untidy.pick<Json | undefined>([line["uuid"], null, undefined])) };
  if (line["type"] === "result")
    return withMember({ ...said, ...strangersIn(untidy) }, "usage", countsSaid(untidy, line["usage"]));
  return isObject(message) ? { ...said, message: messageSaid(untidy, message) } : said;
}

function messageSaid(untidy: Untidy, message: JsonObject): JsonObject {
  const content = objectsOf(message["content"]).map((block) => {
    if (block["type"] !== "tool_use") return block;
    const { input, ...named } = block;
    return { ...named, ...givenSaid(untidy, "input", input, ["tidy", "text"]) };
  });
  return { ...message, content };
}
