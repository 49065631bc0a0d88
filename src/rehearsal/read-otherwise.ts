import type { Entry, Part, Role } from "./entries.ts";
import type { Expected } from "./expected.ts";

// What several wires have in common of how they say something, written anew on the judge's side.

/** Only OpenAI has developers: for others they are the system. */
export function withoutDeveloper(expected: Expected): Expected {
  return "role" in expected && expected.role === "developer" ? { ...expected, role: "system" } : expected;
}

/** Where arguments are a JSON value and no text, the model reads how they would be written again. */
export const withParsedArguments = <Said extends Expected | Entry>(said: Said): Said =>
  said.kind === "call" ? { ...said, arguments: JSON.stringify(JSON.parse(said.arguments)) } : said;

/** Where images are of one size only. */
export function withoutDetail(expected: Expected): Expected {
  if (expected.kind !== "image") return expected;
  const { detail: _, ...image } = expected;
  return image;
}

/** Where arguments are a JSON value and no text, the log has how they would be written again. */
export const recordedAsObject = (answered: Entry): readonly Entry[] => [withParsedArguments(answered)];

/** The same, where all that a model says is texts, and of a message each is a thing by itself. */
export const recordedAsTexts = (answered: Entry): readonly Entry[] =>
  recordedAsObject(refusalAsText(answered)).flatMap(textsOf);

/** The same, where a message is one text. */
export function recordedAsMessage(answered: Entry): readonly Entry[] {
  const told = refusalAsText(answered);
  if (told.kind !== "message") return recordedAsObject(told);
  const text = told.parts.map((part) => ("text" in part ? part.text : "")).join("\n\n");
  return [{ ...told, parts: [{ type: "text", text }] }];
}

/** Each part of a message, as a message. */
export const textsOf = (answered: Entry): readonly Entry[] =>
  answered.kind === "message" ? answered.parts.map((part) => ({ ...answered, parts: [part] })) : [answered];

/** Where a model has no other way to refuse than to say so. */
export function refusalAsText(answered: Entry): Entry {
  if (answered.kind !== "message") return answered;
  const parts = answered.parts.map((part): Part => (part.type === "refusal" ? { ...part, type: "text" } : part));
  return { ...answered, parts };
}

/** The AI SDK has images without their size, and audio as a file. */
export function readByAiSdk(expected: Expected): Expected {
  const each = withoutDetail(withParsedArguments(withoutDeveloper(expected)));
  if (each.kind !== "audio") return each;
  const { data, format } = each.audio;
  return { kind: "file", role: each.role, source: `data:audio/${format};base64,${data}` };
}

/** An entry with what of its message has a form on a wire; null where nothing has. Other entries have one. */
export const takesParts =
  (has: (part: Part, role: Role) => boolean) =>
  (entry: Entry): Entry | null => {
    if (entry.kind !== "message") return entry;
    const parts = entry.parts.filter((part) => has(part, entry.role));
    if (parts.length === entry.parts.length) return entry;
    return parts.length === 0 ? null : { ...entry, parts };
  };

/** A file that another server keeps under an id. */
export const isElsewhere = (part: Part): boolean => part.type === "file" && part.filename === undefined;

/** An address that holds what it names. */
export const isInline = (source: string): boolean => /^data:[^,]*;base64,/.test(source);

/** An entry without such files; null where it says nothing else. */
export const withoutElsewhere = takesParts((part) => !isElsewhere(part));
