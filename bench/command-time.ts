import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { build } from "../tools/build.ts";

/** The published build: users do not run `turnlog` from its sources. */
export const dist = join(import.meta.dirname, "../dist");
export const buildDist = (): Promise<void> => build({ ifStale: true, declarations: "none" });

/** Processor time of one call of the command, in seconds; call `buildDist` first. */
export const secondsOf = (path: string, words: readonly string[]): number =>
  secondsOfNode([join(dist, "apps/cli/main.js"), "--store", `sqlite:${path}`, ...words]);

/** Processor time of a Node process with these arguments, which reports it at its end. */
export function secondsOfNode(words: readonly string[]): number {
  const stdio = ["ignore", "ignore", "pipe", "pipe"] as const;
  const args = ["--import", tellingTime, ...words];
  const { status, output } = spawnSync(process.execPath, args, { stdio: [...stdio], encoding: "utf8" });
  // Exit code 1 means a difference that the command was asked to find. Output is shown only after a failure, because a bench prints
  // figures.
  if (status === null || status > 1) throw new Error(`node ${words.join(" ")} ended with ${status}: ${output[2]}`);
  return Number(output[3]) / 1e6;
}

const tellingTime = `data:text/javascript,${encodeURIComponent(`
  import { writeSync } from "node:fs";
  process.on("exit", () => {
    const { user, system } = process.cpuUsage();
    writeSync(3, String(user + system));
  });
`)}`;
