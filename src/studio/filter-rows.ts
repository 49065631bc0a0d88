import type { LogRow } from "./page-documents.ts";

/** Short names of types, as people filter by them. */
const types: Readonly<Record<string, readonly string[]>> = {
  edit: ["TurnEdited"],
  request: ["InferenceRequested", "WarmUpRequested"],
  answer: ["ResponseReceived"],
  failure: ["InferenceFailed", "RunFailed"],
  tool: ["ToolStarted", "ToolFinished", "ToolParked", "ToolSettled", "ApprovalRequested", "ApprovalDecided"],
  run: ["RunStarted", "RunResumed", "RunCompleted", "RunFailed", "RunCancelled", "RunParked"],
  message: ["BlockAppended"],
};

/** `type:edit layer:redact-emails hotel`: rows that have all of it. */
export function rowFilter(text: string): (row: LogRow) => boolean {
  const wanted = text.split(/\s+/u).filter((word) => word !== "");
  const tests = wanted.map((word): ((row: LogRow) => boolean) => {
    const [, name, value] = /^(type|layer|mw|chain):(.+)$/.exec(word.toLowerCase()) ?? [];
    if (value === undefined) {
      const plain = word.toLowerCase();
      return (row) => `${row.words} ${row.sentence}`.toLowerCase().includes(plain);
    }
    if (name === "type") return ({ type }) => types[value]?.includes(type) ?? type.toLowerCase().startsWith(value);
    if (name === "chain") return ({ verdict }) => verdict === value;
    return ({ layer }) => layer?.toLowerCase().startsWith(value) === true;
  });
  return (row) => tests.every((test) => test(row));
}
