import { markOf, type RowMark } from "./log-row.ts";
import type { LogRow } from "./page-documents.ts";

/** How many rows are packed together. */
const pageSize = 256;

/**
 * The rows of a log, by revision. There is one for each event and a page shows a few, so all but the newest are kept as bytes: as objects,
 * they would take more memory than everything else that is known of a conversation.
 */
export class LogRows {
  readonly #marks: RowMark[] = [];
  /** Rows that say the same share their mark, so there are few. */
  readonly #marksByType = new Map<string, readonly RowMark[]>();
  readonly #packed: Uint8Array[] = [];
  #newest: LogRow[] = [];
  #read: { readonly page: number; readonly rows: readonly LogRow[] } | null = null;

  get length(): number {
    return this.#marks.length;
  }

  add(row: LogRow): void {
    this.#marks.push(this.#markOf(row));
    this.#newest.push(row);
    if (this.#newest.length < pageSize) return;
    this.#packed.push(encoder.encode(JSON.stringify(this.#newest.map(packed))));
    this.#newest = [];
  }

  mark(revision: number): RowMark | undefined {
    return this.#marks[revision];
  }

  /** The newest revision whose mark fits; -1 if there is none. */
  lastRevision(fits: (mark: RowMark) => boolean): number {
    return this.#marks.findLastIndex(fits);
  }

  /** The rows from a revision to before another one. */
  slice(from: number, to: number): readonly LogRow[] {
    const rows: LogRow[] = [];
    for (let page = Math.floor(from / pageSize); page * pageSize < Math.min(to, this.length); page += 1) {
      const first = page * pageSize;
      for (const row of this.#page(page).slice(Math.max(0, from - first), to - first)) rows.push(row);
    }
    return rows;
  }

  /** The rows that have all that a filter asks for: how many, and a part of them. Rows are only unpacked for their words. */
  filtered(text: string, { from, n }: { readonly from: number; readonly n: number }) {
    const filter = rowFilter(text);
    const found = this.#revisionsOf(filter);
    return {
      total: found.length,
      rows: found.slice(from, from + n).flatMap((revision) => this.slice(revision, revision + 1)),
    };
  }

  #revisionsOf({ ofMark, ofWords }: RowFilter): readonly number[] {
    const found: number[] = [];
    for (const [revision, mark] of this.#marks.entries()) {
      if (!ofMark(mark)) continue;
      const row = ofWords === null ? undefined : this.#page(Math.floor(revision / pageSize))[revision % pageSize];
      if (ofWords === null || (row !== undefined && ofWords(row))) found.push(revision);
    }
    return found;
  }

  #page(page: number): readonly LogRow[] {
    const bytes = this.#packed[page];
    if (bytes === undefined) return page === this.#packed.length ? this.#newest : [];
    if (this.#read?.page === page) return this.#read.rows;
    // What was packed here.
    const words = JSON.parse(decoder.decode(bytes)) as readonly PackedRow[];
    const rows = words.flatMap((row, place) => {
      const revision = page * pageSize + place;
      const mark = this.#marks[revision];
      return mark === undefined ? [] : unpacked(row, { revision, mark });
    });
    this.#read = { page, rows };
    return rows;
  }

  #markOf(row: LogRow): RowMark {
    const mark = markOf(row);
    const ofType = this.#marksByType.get(mark.type) ?? [];
    const known = ofType.find((each) => members.every((name) => each[name] === mark[name]));
    if (known !== undefined) return known;
    this.#marksByType.set(mark.type, [...ofType, mark]);
    return mark;
  }
}

const members = ["sign", "layer", "verdict", "editor", "isBack"] as const satisfies readonly (keyof RowMark)[];

const [encoder, decoder] = [new TextEncoder(), new TextDecoder()];

/** What a row says beyond its revision and its mark. */
type PackedRow = ReturnType<typeof packed>;

const packed = ({ at, layerNumber, words, detail, change, value, sentence, problem }: LogRow) =>
  [at, layerNumber, words, detail, change, value, sentence, problem] as const;

function unpacked(row: PackedRow, { revision, mark }: { readonly revision: number; readonly mark: RowMark }): LogRow {
  const { type, sign, layer, verdict } = mark;
  const [at, layerNumber, words, detail, change, value, sentence, problem] = row;
  return {
    ...{ revision, at, type, sign, layer, layerNumber, words, detail },
    ...{ change, value, verdict, sentence, problem },
  };
}

/** What a filter asks of the mark of a row, and of its words; null if it names no words. */
type RowFilter = {
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
function rowFilter(text: string): RowFilter {
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
