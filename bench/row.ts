/** What a figure is held to; a figure that is told only has none. */
type Bound =
  | { readonly bound: number; readonly kind: "at least" | "at most" }
  | { readonly bound?: never; readonly kind?: never };

/** One figure of the bench and what it is held to. */
export type BenchRow = Bound & {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  /** How far apart the quarter points of the single rounds are, as a part of the value. */
  readonly noise?: number;
  /** What else a reader should know: absolute figures, sizes. */
  readonly note?: string;
  /** A row of a table, by heading, where figures are read side by side; neighbouring rows have the same headings. */
  readonly columns?: Readonly<Record<string, string | number>>;
};

/** Prints rows as a table, those without a bound without a verdict; answers whether all others keep theirs. */
export function report(rows: readonly BenchRow[]): boolean {
  for (const row of rows) {
    const { name, value, unit, bound, kind, noise, note } = row;
    const verdict = bound === undefined ? "    " : isKept(row) ? "ok  " : "MISS";
    const spread = noise === undefined ? "" : ` ±${Math.round(noise * 50)}%`;
    const held = bound === undefined ? "" : ` (${kind} ${bound})`;
    console.log(`${verdict} ${name}: ${figure(value)} ${unit}${spread}${held}${note === undefined ? "" : `; ${note}`}`);
  }
  const tabled = rows.flatMap(({ columns }) => (columns === undefined ? [] : [columns]));
  if (tabled.length > 0) console.log(markdownTable(tabled));
  return rows.every(isKept);
}

function markdownTable(rows: readonly NonNullable<BenchRow["columns"]>[]): string {
  const headings = Object.keys(rows[0] ?? {});
  const lines = [
    headings,
    headings.map(() => "---"),
    ...rows.map((row) => headings.map((heading) => row[heading] ?? "")),
  ];
  return lines.map((cells) => `| ${cells.map(cellOf).join(" | ")} |`).join("\n");
}

const cellOf = (cell: string | number): string => (typeof cell === "number" ? cell.toLocaleString("en") : cell);

/** The middle of a list of rounds, and how far apart their quarter points are. */
export function summary(rounds: readonly number[]): { readonly value: number; readonly noise: number } {
  const sorted = rounds.toSorted((left, right) => left - right);
  const at = (part: number): number => sorted[Math.round((sorted.length - 1) * part)] ?? Number.NaN;
  return { value: at(0.5), noise: (at(0.75) - at(0.25)) / at(0.5) };
}

/** Whether a figure keeps its bound; one without a bound misses none. */
export const isKept = ({ value, bound, kind }: BenchRow): boolean =>
  bound === undefined || (kind === "at least" ? value >= bound : value <= bound);

const figure = (value: number): string => (value >= 100 ? value.toFixed(0) : value.toPrecision(3));
