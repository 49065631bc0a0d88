import { spawnSync } from "node:child_process";
import { join } from "node:path";

/** Processor time of one call of the command, which tells it at its end. */
export function secondsOf(path: string, words: readonly string[]): number {
  const main = join(import.meta.dirname, "../src/cli/main.ts");
  const args = ["--import", tellingTime, main, "--store", `sqlite:${path}`, ...words];
  const stdio = ["ignore", "ignore", "pipe", "pipe"] as const;
  const { status, output } = spawnSync(process.execPath, args, { stdio: [...stdio], encoding: "utf8" });
  // A difference where one was asked for is 1. What a command says is told only where it failed: a bench prints figures.
  if (status === null || status > 1) throw new Error(`turnlog ${words.join(" ")} ended with ${status}: ${output[2]}`);
  return Number(output[3]) / 1e6;
}

const tellingTime = `data:text/javascript,${encodeURIComponent(`
  import { writeSync } from "node:fs";
  process.on("exit", () => {
    const { user, system } = process.cpuUsage();
    writeSync(3, String(user + system));
  });
`)}`;
