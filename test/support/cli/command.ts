import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { execute } from "../../../src/cli/program.ts";

/** What a call of the command came to. */
export type Outcome = {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
};

export type CommandOptions = {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
  /** For Node itself, before the file. */
  readonly nodeArguments?: readonly string[];
  /** An open file that stdout goes to, in place of the outcome. */
  readonly output?: number;
};

const children = new Set<ChildProcess>();

// A test that failed may have left its process waiting.
process.once("exit", () => {
  for (const child of children) child.kill("SIGKILL");
});

const main = join(import.meta.dirname, "../../../src/cli/main.ts");

/** Runs `turnlog` as a process, to its end. */
export async function turnlog(args: readonly string[], options: CommandOptions): Promise<Outcome> {
  return startTurnlog(args, options).ended;
}

export type Started = {
  readonly child: ChildProcess;
  readonly ended: Promise<Outcome>;
  /** Resolves with stdout so far once it has a whole line. */
  readonly firstLine: Promise<string>;
};

/** The same, while it runs; it does not outlive the tests. */
export function startTurnlog(args: readonly string[], options: CommandOptions): Started {
  const { cwd, env = {}, nodeArguments = [], output = "pipe" } = options;
  const child = spawn(process.execPath, [...nodeArguments, main, ...args], {
    cwd,
    env: { PATH: process.env["PATH"], ...env },
    stdio: ["ignore", output, "pipe"],
  });
  children.add(child);
  child.once("close", () => children.delete(child));
  const [stdout, stderr] = [textOf(child.stdout), textOf(child.stderr)];
  const firstLine = new Promise<string>((resolve) => {
    child.stdout?.on("data", () => {
      if (stdout.text().includes("\n")) resolve(stdout.text());
    });
  });
  const ended = once(child, "close").then(() => ({
    code: child.exitCode,
    stdout: stdout.text(),
    stderr: stderr.text(),
  }));
  return { child, ended, firstLine };
}

function textOf(stream: NodeJS.ReadableStream | null): { readonly text: () => string } {
  const chunks: Buffer[] = [];
  stream?.on("data", (chunk: Buffer) => chunks.push(chunk));
  return { text: () => Buffer.concat(chunks).toString() };
}

/**
 * Runs the same in this process, which is faster: all but `main.ts`, process and pipes. Paths that are typed have to be
 * absolute; the store is `turnlog.db` of the folder.
 */
export async function turnlogHere(
  args: readonly string[],
  { cwd, terminal }: { readonly cwd: string; readonly terminal?: { readonly columns: number } },
): Promise<Outcome> {
  const [out, err]: [string[], string[]] = [[], []];
  const screen = terminal === undefined ? {} : { ...terminal, isTTY: true };
  const code = await execute(["node", "turnlog", ...args], {
    stdout: { write: (text) => out.push(text), ...screen },
    stderr: { write: (text) => err.push(text) },
    env: { TURNLOG_STORE: `sqlite:${join(cwd, "turnlog.db")}` },
  });
  return { code, stdout: out.join(""), stderr: err.join("") };
}

/** The one document of a call with `--json`. */
export function documentOf({ stdout }: Outcome): unknown {
  const document: unknown = JSON.parse(stdout);
  return document;
}
