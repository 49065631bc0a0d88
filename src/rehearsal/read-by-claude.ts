import { type Expected, instructionsIn } from "./expected.ts";
import { isElsewhere, takesParts, withoutDetail, withoutDeveloper, withParsedArguments } from "./read-otherwise.ts";

/**
 * A system message behind the beginning is a text of the user in tags, which every model of the Messages API takes; behind the words
 * of the model, and where nobody else speaks, the user has to say something.
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

/** Leading system messages are one text that is added to the system prompt of the CLI; arguments are values. */
export function readByClaudeCli(expected: readonly Expected[]): readonly Expected[] {
  const { texts, rest } = instructionsIn(expected);
  const system = texts.length === 0 ? [] : [{ kind: "text", role: "system", text: texts.join("\n\n") } as const];
  return [...system, ...rest.map((each) => withoutDetail(withParsedArguments(each)))];
}

/** A model and a system say texts, others images and files too: those that the server keeps, PDFs, and images. */
export const takenByMessagesApi = takesParts((part, role) => {
  if (part.type === "text") return true;
  if (role !== "user") return false;
  return part.type === "image" || (part.type === "file" && (isElsewhere(part) || isDocument.test(part.source)));
});

const isDocument = /^data:(application\/pdf|image\/[^;,]+);base64,/;

/** A user says texts and images; a transcript has everything that others said. */
export const takenByClaudeCli = takesParts(({ type }, role) => role !== "user" || type === "text" || type === "image");
