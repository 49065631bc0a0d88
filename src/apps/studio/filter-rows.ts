import type { RowMark } from "./log-row.ts";
import type { LogRow } from "./page-documents.ts";

/** What a filter asks of the mark of a row, and of its words; null if it names no words. */
export type RowFilter = {
  readonly ofMark: (mark: RowMark) => boolean;
  readonly ofWords: ((row: LogRow) => boolean) | null;
};

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
export function rowFilter(text: string): RowFilter {
  const wanted = text.split(/\s+/u).filter((word) => word !== "");
  const marks: RowFilter["ofMark"][] = [];
  const words: string[] = [];
  for (const word of wanted) {
    const lower = word.toLowerCase();
    const [, name, value] = /^(type|layer|mw|chain):(.+)$/.exec(lower) ?? [];
    if (value === undefined) words.push(lower);
    else if (name === "type")
      marks.push(({ type }) => types[value]?.includes(type) ?? type.toLowerCase().startsWith(value));
    else if (name === "chain") marks.push(({ verdict }) => verdict === value);
    else marks.push(({ layer }) => layer?.toLowerCase().startsWith(value) === true);
  }
  const said = (row: LogRow): boolean => {
    const shown = `${row.words} ${row.sentence}`.toLowerCase();
    return words.every((word) => shown.includes(word));
  };
  return { ofMark: (mark) => marks.every((test) => test(mark)), ofWords: words.length === 0 ? null : said };
}
