import type { Entry } from "./entries.ts";
import { type Expected, instructionsIn } from "./expected.ts";
import { isInline, withoutDetail, withoutElsewhere, withParsedArguments } from "./read-otherwise.ts";

/** What a model reads of `generateContent`: results come in the order of their calls, and each is one text. */
export function readByGemini(expected: readonly Expected[]): readonly Expected[] {
  const inOrder: Expected[] = [];
  for (const each of joinedResults(readByGoogle(expected)).map(asItsMediaType)) {
    const start = inOrder.findLastIndex(({ kind }) => kind !== "result") + 1;
    const later = each.kind === "result" ? inOrder.slice(start).filter((other) => isAfter(other, each)).length : 0;
    inOrder.splice(inOrder.length - later, 0, each);
  }
  return inOrder;
}

/** The address's ending decides whether it is an image or a file, because the wire does not say. */
function asItsMediaType(expected: Expected): Expected {
  if ((expected.kind !== "image" && expected.kind !== "file") || isInline(expected.source)) return expected;
  const { role, source } = expected;
  const isImage = /^[^?#]*\.(png|jpe?g|webp|gif|hei[cf])([?#]|$)/i.test(source);
  return { kind: isImage ? "image" : "file", role, source };
}

function joinedResults(expected: readonly Expected[]): readonly Expected[] {
  const joined: Expected[] = [];
  for (const each of expected) {
    const last = joined.at(-1);
    const isSame = each.kind === "result" && last?.kind === "result" && last.call === each.call;
    if (isSame) joined[joined.length - 1] = { ...last, text: `${last.text}\n\n${each.text}` };
    else joined.push(each);
  }
  return joined;
}

/** What a model reads of an interaction: all instructions are one text. */
export function readByInteractions(expected: readonly Expected[]): readonly Expected[] {
  return readByGoogle(expected, (texts) => [texts.join("\n\n")]);
}

/**
 * Leading instructions come before the conversation; later ones become user messages. A refusal is a text. Empty texts are not sent.
 * Arguments are JSON objects, whose text is not kept. Images have no size, and files no name.
 */
function readByGoogle(
  expected: readonly Expected[],
  joined: (texts: readonly string[]) => readonly string[] = (texts) => texts,
): readonly Expected[] {
  const { texts, rest } = instructionsIn(expected);
  const said = rest.map((each): Expected => {
    if (each.kind === "call") return withParsedArguments(each);
    if (each.kind === "refusal") return { ...each, kind: "text" };
    if (each.kind === "file") return asUsers({ kind: "file", role: each.role, source: each.source });
    return asUsers(withoutDetail(each));
  });
  const instructions = joined(texts).map((text): Expected => ({ kind: "text", role: "system", text }));
  return [...instructions, ...said].filter((each) => each.kind !== "text" || each.text !== "");
}

const asUsers = (each: Expected): Expected =>
  "role" in each && isInstruction(each) ? { ...each, role: "user" } : each;

const isInstruction = ({ role }: { readonly role: string }): boolean => role === "system" || role === "developer";
const isAfter = (other: Expected, { call }: { readonly call: number }): boolean =>
  other.kind === "result" && other.call > call;

/** A message without files that another server keeps; null if nothing else is left. */
export function takenByGoogle(entry: Entry): Entry | null {
  const taken = withoutElsewhere(entry);
  const isSaid = taken?.kind !== "message" || taken.parts.some((part) => !("text" in part) || part.text !== "");
  return isSaid ? taken : null;
}
