import { execFileSync } from "node:child_process";
import { join } from "node:path";
import * as z from "zod";
import { type BenchRow, report, summary } from "./row.ts";

const took = z.strictObject({ ms: z.number(), heldBytes: z.number() });
const steps = 1_000;
const rounds = 5;

/** A tool loop of 1,000 steps with a layer that hides something in every block, compared with the same loop without it. */
export async function benchLens(): Promise<readonly BenchRow[]> {
  const pairs = Array.from({ length: rounds }, () => ({ plain: played("plain"), hidden: played("lens") }));
  const ms = (value: number): string => `${Math.round(value)} ms`;
  const megabytes = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(1)} MB`;
  const [first] = pairs;
  if (first === undefined) throw new Error("no round was played");
  return [
    {
      name: "processor time of a run of 1,000 steps behind a hiding lens, against none",
      ...{ ...summary(pairs.map(({ plain, hidden }) => hidden.ms / plain.ms)), unit: "x", bound: 3, kind: "at most" },
      note: `${ms(first.hidden.ms)} against ${ms(first.plain.ms)} in the first round`,
    },
    {
      name: "heap of a run of 1,000 steps behind a hiding lens, against none",
      ...summary(pairs.map(({ plain, hidden }) => hidden.heldBytes / plain.heldBytes)),
      ...{ unit: "x", bound: 2, kind: "at most" },
      note: `${megabytes(first.hidden.heldBytes)} against ${megabytes(first.plain.heldBytes)}`,
    },
  ];
}

/** Plays it in a fresh process. */
function played(kind: "plain" | "lens"): z.infer<typeof took> {
  const child = join(import.meta.dirname, "lens-process.ts");
  const answer = execFileSync(process.execPath, ["--expose-gc", child, kind, String(steps)], { encoding: "utf8" });
  return took.parse(JSON.parse(answer));
}

if (import.meta.main) process.exitCode = report(await benchLens()) ? 0 : 1;
