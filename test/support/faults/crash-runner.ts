import type * as z from "zod";
import { startAside } from "../process.ts";
import { type Orders, reportSchema } from "./crash-process.ts";

export type Job = Orders["jobs"][number];

type Report = z.infer<typeof reportSchema>;

type Reports = ReadonlyMap<string, Report>;

/**
 * Plays jobs in a process of their own until that is killed: by itself once all are held or ended, or sooner, when it has
 * said so many lines. Gives the last word of each.
 */
export async function playAside(jobs: readonly Job[], maxLines = Number.POSITIVE_INFINITY): Promise<Reports> {
  const { child, lines, closed, tell } = startAside("faults/crash-process.ts", []);
  const isTalking = maxLines < Number.POSITIVE_INFINITY;
  tell(JSON.stringify({ jobs, isTalking }));
  const reports = new Map<string, Report>();
  let count = 0;
  for await (const line of lines) {
    // A process that was killed may leave the beginning of a line.
    if (child.killed && !isJson(line)) continue;
    const report = reportSchema.parse(JSON.parse(line));
    reports.set(report.id, report);
    count += 1;
    if (count === maxLines) child.kill("SIGKILL");
  }
  await closed;
  if (child.signalCode !== "SIGKILL") throw new Error(`the process ended by itself: exit code ${child.exitCode}`);
  return reports;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
