import { type Expected, instructionsIn } from "./expected.ts";
import { isElsewhere, takesParts, withoutDetail, withoutDeveloper, withParsedArguments } from "./read-otherwise.ts";

/**
 * A system message after the beginning becomes a user text in tags, which every model of the Messages API accepts. After a message of
 * the model, and if there is no other message, a user message is added.
 */
export function readAsMessagesApi(expected: readonly Expected[]): readonly Expected[] {
  const all = expected.map((each) => withoutDetail(withParsedArguments(withoutDeveloper(each))));
  const leading = all.findIndex((each) => !("role" in each) || each.role !== "system");
  const said = all.map((each, place) =>
    each.kind === "text" && each.role === "system" && leading >= 0 && place > leading
      ? { ...each, role: "user" as const, text: `<system>\n${each.text}\n</system>` }
      : each,
  );
  const last = said.at(-1);
  const isModels = leading < 0 || last?.kind === "reasoning" || (last?.kind === "text" && last.role === "assistant");
  return isModels ? [...said, { kind: "text", role: "user", text: "Continue." }] : said;
}

/** Leading system messages become one text, added to the CLI's system prompt; arguments are values. */
export function readByClaudeCli(expected: readonly Expected[]): readonly Expected[] {
  const { texts, rest } = instructionsIn(expected);
  const system = texts.length === 0 ? [] : [{ kind: "text", role: "system", text: texts.join("\n\n") } as const];
  return [...system, ...rest.map((each) => withoutDetail(withParsedArguments(each)))];
}

/** Model and system have texts only; others also images and files: those that the server keeps, PDFs, and images. */
export const takenByMessagesApi = takesParts((part, role) => {
  if (part.type === "text") return true;
  if (role !== "user") return false;
  return part.type === "image" || (part.type === "file" && (isElsewhere(part) || isDocument.test(part.source)));
});

const isDocument = /^data:(application\/pdf|image\/[^;,]+);base64,/;

/** A user has texts and images; a transcript has everything from the others. */
export const takenByClaudeCli = takesParts(({ type }, role) => role !== "user" || type === "text" || type === "image");
