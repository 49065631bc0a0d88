import type { Expected } from "./expected.ts";

/**
 * What a model of Google's reads: instructions stand before the conversation, and within it they are the user's; a refusal is a text; what says nothing is not sent;
 * arguments are JSON objects, whose text is not kept; results stand in the order of their calls.
 */
export function readByGemini(expected: readonly Expected[]): readonly Expected[] {
  const first = expected.findIndex((each) => !(each.kind === "text" && isInstruction(each)));
  const read = expected.map((each, place): Expected => {
    if (each.kind === "call") return { ...each, arguments: JSON.stringify(JSON.parse(each.arguments)) };
    if (each.kind === "refusal") return { ...each, kind: "text" };
    if (each.kind === "text" && isInstruction(each)) return { ...each, role: place < first ? "system" : "user" };
    return each;
  });
  const inOrder: Expected[] = [];
  for (const each of read) {
    if (each.kind === "text" && each.text === "") continue;
    const start = inOrder.findLastIndex(({ kind }) => kind !== "result") + 1;
    const later = each.kind === "result" ? inOrder.slice(start).filter((other) => isAfter(other, each)).length : 0;
    inOrder.splice(inOrder.length - later, 0, each);
  }
  return inOrder;
}

const isInstruction = ({ role }: { readonly role: string }): boolean => role === "system" || role === "developer";
const isAfter = (other: Expected, { call }: { readonly call: number }): boolean =>
  other.kind === "result" && other.call > call;
