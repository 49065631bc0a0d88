import type { Expected } from "./expected.ts";

/**
 * What the model reads where all that one role says without a word of another in between is one message: what it thought, then its
 * images, then its texts as one, then its calls, whose arguments are objects (Ollama's wire, said anew on the judge's side).
 */
export function readAsMessages(expected: readonly Expected[]): readonly Expected[] {
  const runs: Expected[][] = [];
  for (const each of expected) {
    const last = runs.at(-1);
    if (last?.[0] === undefined || speakerOf(last[0]) !== speakerOf(each)) runs.push([each]);
    else last.push(each);
  }
  return runs.flatMap(messageRead);
}

/** Results stand by themselves, but for the parts of one. */
function speakerOf(expected: Expected): string {
  if (expected.kind === "result") return `result ${expected.call}`;
  if (!("role" in expected)) return "assistant";
  return expected.role === "developer" ? "system" : expected.role;
}

function messageRead(run: readonly Expected[]): readonly Expected[] {
  const [first] = run;
  if (first?.kind === "result") {
    const texts = run.flatMap((each) => (each.kind === "result" ? [each.text] : []));
    return [{ ...first, text: joined(texts) }];
  }
  const thoughts = run.flatMap((each) => (each.kind === "reasoning" ? [each.text] : []));
  const spoken = run.flatMap((each) => (each.kind === "text" ? [{ text: each.text, role: each.role }] : []));
  const text = joined(spoken.map((each) => each.text));
  const [said] = spoken;
  const role = said?.role === "developer" ? "system" : said?.role;
  return [
    ...(thoughts.length === 0 ? [] : [{ kind: "reasoning" as const, text: joined(thoughts) }]),
    ...run.filter(({ kind }) => kind === "image"),
    ...(text === "" || role === undefined ? [] : [{ kind: "text" as const, role, text }]),
    ...run.flatMap((each) => (each.kind === "call" ? [{ ...each, arguments: asObject(each.arguments) }] : [])),
  ];
}

const joined = (texts: readonly string[]): string => texts.filter((text) => text !== "").join("\n\n");
const asObject = (text: string): string => JSON.stringify(JSON.parse(text));
