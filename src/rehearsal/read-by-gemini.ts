import { type Expected, instructionsIn } from "./expected.ts";

/** What a model reads of `generateContent`: results stand in the order of their calls. */
export function readByGemini(expected: readonly Expected[]): readonly Expected[] {
  const inOrder: Expected[] = [];
  for (const each of readByGoogle(expected)) {
    const start = inOrder.findLastIndex(({ kind }) => kind !== "result") + 1;
    const later = each.kind === "result" ? inOrder.slice(start).filter((other) => isAfter(other, each)).length : 0;
    inOrder.splice(inOrder.length - later, 0, each);
  }
  return inOrder;
}

/** What a model reads of an interaction: all instructions are one text. */
export function readByInteractions(expected: readonly Expected[]): readonly Expected[] {
  return readByGoogle(expected, (texts) => [texts.join("\n\n")]);
}

/**
 * Instructions stand before the conversation, and within it they are the user's; a refusal is a text; what says nothing is not sent;
 * arguments are JSON objects, whose text is not kept.
 */
function readByGoogle(
  expected: readonly Expected[],
  joined: (texts: readonly string[]) => readonly string[] = (texts) => texts,
): readonly Expected[] {
  const { texts, rest } = instructionsIn(expected);
  const said = rest.map((each): Expected => {
    if (each.kind === "call") return { ...each, arguments: JSON.stringify(JSON.parse(each.arguments)) };
    if (each.kind === "refusal") return { ...each, kind: "text" };
    return each.kind === "text" && isInstruction(each) ? { ...each, role: "user" } : each;
  });
  const instructions = joined(texts).map((text): Expected => ({ kind: "text", role: "system", text }));
  return [...instructions, ...said].filter((each) => each.kind !== "text" || each.text !== "");
}

const isInstruction = ({ role }: { readonly role: string }): boolean => role === "system" || role === "developer";
const isAfter = (other: Expected, { call }: { readonly call: number }): boolean =>
  other.kind === "result" && other.call > call;
