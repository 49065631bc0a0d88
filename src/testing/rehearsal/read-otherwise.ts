import type { Entry, Part, Role } from "./entries.ts";
import type { Expected } from "./expected.ts";

// Rules that several wires share, written independently for the judge.

/** Only OpenAI has developer messages: for others they are system messages. */
export function withoutDeveloper(expected: Expected): Expected {
  return "role" in expected && expected.role === "developer" ? { ...expected, role: "system" } : expected;
}

/** If arguments are a JSON value, not a text, the model reads them as they are serialised again. */
export const withParsedArguments = <Said extends Expected | Entry>(said: Said): Said =>
  said.kind === "call" ? { ...said, arguments: JSON.stringify(JSON.parse(said.arguments)) } : said;

/** For wires with images of one size only. */
export function withoutDetail(expected: Expected): Expected {
  if (expected.kind !== "image") return expected;
  const { detail: _, ...image } = expected;
  return image;
}

/** If arguments are a JSON value, not a text, the log has them as they are serialised again. */
export const recordedAsObject = (answered: Entry): readonly Entry[] => [withParsedArguments(answered)];

/** The same, if a model's messages are texts, each of which is a separate entry. */
export const recordedAsTexts = (answered: Entry): readonly Entry[] =>
  recordedAsObject(refusalAsText(answered)).flatMap(textsOf);

/** The same, if a message is one text. */
export function recordedAsMessage(answered: Entry): readonly Entry[] {
  const told = refusalAsText(answered);
  if (told.kind !== "message") return recordedAsObject(told);
  const text = told.parts.map((part) => ("text" in part ? part.text : "")).join("\n\n");
  return [{ ...told, parts: [{ type: "text", text }] }];
}

/** Each part of a message, as a message. */
export const textsOf = (answered: Entry): readonly Entry[] =>
  answered.kind === "message" ? answered.parts.map((part) => ({ ...answered, parts: [part] })) : [answered];

/** For wires on which a refusal is a text. */
export function refusalAsText(answered: Entry): Entry {
  if (answered.kind !== "message") return answered;
  const parts = answered.parts.map((part): Part => (part.type === "refusal" ? { ...part, type: "text" } : part));
  return { ...answered, parts };
}

/** The AI SDK has images without a size, and audio as a file. */
export function readByAiSdk(expected: Expected): Expected {
  const each = withoutDetail(withParsedArguments(withoutDeveloper(expected)));
  if (each.kind !== "audio") return each;
  const { data, format } = each.audio;
  return { kind: "file", role: each.role, source: `data:audio/${format};base64,${data}` };
}

/** An entry with only the parts of its message that a wire has a form for; null if there are none. Other entries stay. */
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

/** An address that contains its data. */
export const isInline = (source: string): boolean => /^data:[^,]*;base64,/.test(source);

/** An entry without such files; null if it has nothing else. */
export const withoutElsewhere = takesParts((part) => !isElsewhere(part));
