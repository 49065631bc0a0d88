/** The bound of a figure; an informative figure has none. */
type Bound =
  | { readonly bound: number; readonly kind: "at least" | "at most" }
  | { readonly bound?: never; readonly kind?: never };

/** One figure of the bench, and its bound. */
export type BenchRow = Bound & {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  /** The distance between the quartiles of the single rounds, as a fraction of the value. */
  readonly noise?: number;
  /** Further facts for the reader: absolute figures, sizes. */
  readonly note?: string;
  /** The row of a table, by heading, for figures that are read side by side; neighbouring rows have the same headings. */
  readonly columns?: Readonly<Record<string, string | number>>;
};

/** Prints rows as a table, with a verdict for each one that has a bound; returns whether all bounds are kept. */
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

/** The median of a list of rounds, and the distance between their quartiles. */
export function summary(rounds: readonly number[]): { readonly value: number; readonly noise: number } {
  const sorted = rounds.toSorted((left, right) => left - right);
  const at = (part: number): number => sorted[Math.round((sorted.length - 1) * part)] ?? Number.NaN;
  return { value: at(0.5), noise: (at(0.75) - at(0.25)) / at(0.5) };
}

/** Whether a figure keeps its bound; true without a bound. */
export const isKept = ({ value, bound, kind }: BenchRow): boolean =>
  bound === undefined || (kind === "at least" ? value >= bound : value <= bound);

const figure = (value: number): string => (value >= 100 ? value.toFixed(0) : value.toPrecision(3));
