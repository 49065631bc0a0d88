import type { Expected } from "./expected.ts";
import { withoutDetail, withParsedArguments } from "./read-otherwise.ts";

/**
 * What the model reads if consecutive entries of one role are one message: its reasoning, then its images (their content only), then its
 * texts as one, then its calls, whose arguments are objects (Ollama's wire, written independently for the judge).
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

/**
 * What the model reads on the wire of Chat Completions. A model's message has its reasoning first, as one, then texts, then calls.
 * Entries of the model after a call and before the results belong to the message of that call.
 */
export function readAsChat(
  expected: readonly Expected[],
  { joinsThoughts = true }: { readonly joinsThoughts?: boolean } = {},
): readonly Expected[] {
  const messages: Expected[][] = [];
  for (const each of expected) {
    const last = messages.at(-1);
    const isSaid = last?.[0] !== undefined && speakerOf(last[0]) === "assistant" && speakerOf(each) === "assistant";
    const hasCalled = last?.some(({ kind }) => kind === "call") === true;
    const hasSpoken = last?.some(({ kind }) => kind === "text" || kind === "refusal") === true;
    if (last !== undefined && isSaid && (hasCalled || !hasSpoken || each.kind === "call")) last.push(each);
    else messages.push([each]);
  }
  return messages.flatMap((message) => {
    const thoughts = message.flatMap((each) => (each.kind === "reasoning" ? [each.text] : []));
    const whole = joinsThoughts && thoughts.length > 0 ? [joined(thoughts)] : thoughts;
    return [
      ...whole.map((text) => ({ kind: "reasoning" as const, text })),
      ...message.filter(({ kind }) => kind !== "reasoning" && kind !== "call"),
      ...message.filter(({ kind }) => kind === "call"),
    ];
  });
}

/** Results are separate messages, except for the parts of one. */
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
    ...run.flatMap((each) =>
      each.kind === "image" ? [withoutDetail({ ...each, source: contentOf(each.source) })] : [],
    ),
    ...(text === "" || role === undefined ? [] : [{ kind: "text" as const, role, text }]),
    ...run.flatMap((each) => (each.kind === "call" ? [withParsedArguments(each)] : [])),
  ];
}

const joined = (texts: readonly string[]): string => texts.filter((text) => text !== "").join("\n\n");
const contentOf = (source: string): string => source.replace(/^data:[^,]*,/, "");
