import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type * as z from "zod";
import { type Orders, reportSchema } from "./crash-process.ts";

type Report = z.infer<typeof reportSchema>;

const program = fileURLToPath(new URL("crash-process.ts", import.meta.url));
const children = new Set<ChildProcess>();

// A test that failed may have left its process waiting.
process.once("exit", () => {
  for (const child of children) child.kill("SIGKILL");
});

type Reports = ReadonlyMap<string, Report>;

/**
 * Plays jobs in a process of their own until that is killed: by itself once all are held or ended, or sooner, when it has
 * said so many lines. Gives the last word of each.
 */
export async function playAside(
  orders: Omit<Orders, "isTalking">,
  maxLines = Number.POSITIVE_INFINITY,
): Promise<Reports> {
  const child = spawn(process.execPath, [program], { stdio: ["pipe", "pipe", "inherit"] });
  children.add(child);
  const ended = once(child, "exit");
  const isTalking = maxLines < Number.POSITIVE_INFINITY;
  child.stdin.end(`${JSON.stringify({ ...orders, isTalking })}\n`);
  const reports = new Map<string, Report>();
  let lines = 0;
  for await (const line of createInterface({ input: child.stdout })) {
    const report = reportSchema.parse(JSON.parse(line));
    reports.set(report.id, report);
    lines += 1;
    if (lines === maxLines) child.kill("SIGKILL");
  }
  await ended;
  children.delete(child);
  if (child.signalCode !== "SIGKILL") throw new Error(`the process ended by itself: exit code ${child.exitCode}`);
  return reports;
}
