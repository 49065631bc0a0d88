import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Outcome } from "./outcome.ts";
import { createScreenReader, type ScreenReader } from "./screen-reader.ts";

/** The one way in which tests start programs: none outlives the tests, however they end. */

export type ProcessOptions = {
  readonly cwd?: string;
  /** All of its environment: this process's own by default. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** An open file that stdout goes to, in place of the outcome. */
  readonly output?: number;
  /** What it reads on stdin; nothing by default. */
  readonly input?: string;
  /** The user and group that it runs as. */
  readonly uid?: number;
  readonly gid?: number;
};

export type Started = {
  readonly child: ChildProcess;
  readonly ended: Promise<Outcome>;
  /** Resolves with stdout so far once it has a whole line. */
  readonly firstLine: Promise<string>;
};

const children = new Set<ChildProcess>();

// A test that failed may have left its process waiting.
process.once("exit", () => {
  for (const child of children) child.kill("SIGKILL");
});

function keep<Child extends ChildProcess>(child: Child): Child {
  children.add(child);
  child.once("close", () => children.delete(child));
  return child;
}

/** Starts a program that is asked nothing but its input, and collects what it says. */
export function start(program: string, words: readonly string[], options: ProcessOptions = {}): Started {
  const { output = "pipe", input, ...where } = options;
  const child = keep(
    spawn(program, words, { ...where, stdio: [input === undefined ? "ignore" : "pipe", output, "pipe"] }),
  );
  child.stdin?.end(input);
  const [stdout, stderr] = [textOf(child.stdout), textOf(child.stderr)];
  const firstLine = new Promise<string>((resolve) => {
    child.stdout?.on("data", () => {
      if (stdout().includes("\n")) resolve(stdout());
    });
  });
  const ended = once(child, "close").then(() => ({ code: child.exitCode, stdout: stdout(), stderr: stderr() }));
  return { child, ended, firstLine };
}

/** A program that the test types into. */
export type Typed = Pick<ScreenReader, "readTo" | "text"> & {
  readonly type: (text: string) => void;
  readonly ended: Promise<number | null>;
};

/** Starts a program whose input stays open. */
export function startTyped(program: string, words: readonly string[], options: ProcessOptions = {}): Typed {
  const child = keep(spawn(program, words, { ...options, stdio: ["pipe", "pipe", "inherit"] }));
  const { show, readTo, end, text } = createScreenReader();
  child.stdout.on("data", (piece: Buffer) => {
    show(piece.toString());
  });
  const ended = once(child, "close").then(() => {
    end();
    return child.exitCode;
  });
  return { readTo, text, ended, type: (typed) => child.stdin.write(typed) };
}

function textOf(stream: NodeJS.ReadableStream | null): () => string {
  const chunks: Buffer[] = [];
  stream?.on("data", (chunk: Buffer) => chunks.push(chunk));
  return () => Buffer.concat(chunks).toString();
}

/** The environment for a vitest of its own: nothing of the run that a test belongs to reaches it. */
export const outsideOfVitest: NonNullable<ProcessOptions["env"]> = {
  ...process.env,
  ...{ VITEST: undefined, VITEST_MODE: undefined, VITEST_POOL_ID: undefined, VITEST_WORKER_ID: undefined },
};

/** Runs a program to its end, whatever its exit code. */
export const outcomeOf = (program: string, words: readonly string[], options: ProcessOptions = {}): Promise<Outcome> =>
  start(program, words, options).ended;

/** What a Node script prints; a script that fails fails the test with all that it said. */
export async function outputOf(words: readonly string[], options: ProcessOptions = {}): Promise<string> {
  const { code, stdout, stderr } = await outcomeOf(process.execPath, words, options);
  if (code !== 0) throw new Error(`node ${words.join(" ")} ended with ${String(code)}:\n${stdout}${stderr}`);
  return stdout;
}

/** Where the programs that tests start are built, and turnlog for them (`build-programs.ts`). */
export const built = join(import.meta.dirname, "../../dist-test");

/** The command, as it was built for the tests. */
export const commandFile = join(built, "apps/cli/main.js");

/** Where a program of test/support was built, by the name of its source from there. */
export const supportFile = (name: string): string =>
  join(built, "support", name.replaceAll("/", "-").replace(/\.ts$/, ".js"));

/** A program of test/support at work beside the test: told and read in lines, its errors seen. */
export type Aside = {
  readonly child: ChildProcess;
  /** What it says, line by line, from its beginning. */
  readonly lines: AsyncIterableIterator<string, undefined>;
  /** The lines up to the first that matches, or all. */
  readonly readTo: (last: RegExp) => Promise<readonly string[]>;
  readonly tell: (line: string) => void;
  /** Ends its input. */
  readonly leave: () => void;
  /** Kills it, unless it has ended, and waits until it is gone. */
  readonly kill: () => Promise<void>;
  readonly closed: Promise<void>;
};

/** Starts a program of test/support beside the test. */
export function startAside(program: string, words: readonly string[], env?: ProcessOptions["env"]): Aside {
  const options = env === undefined ? {} : { env };
  const child = keep(
    spawn(process.execPath, [supportFile(program), ...words], { ...options, stdio: ["pipe", "pipe", "inherit"] }),
  );
  const closed = once(child, "close").then(() => undefined);
  // A process that is killed may not have read all that it was told.
  child.stdin.on("error", () => undefined);
  const said = createInterface({ input: child.stdout });
  // Nothing waits for its reader: a test may look at some lines only.
  const lines = new ReadableStream<string>({
    start(controller) {
      said.on("line", (line) => controller.enqueue(line));
      said.once("close", () => controller.close());
    },
  }).values({ preventCancel: true });
  return {
    child,
    lines,
    closed,
    async readTo(last) {
      const read: string[] = [];
      for (let next = await lines.next(); next.done !== true; next = await lines.next()) {
        read.push(next.value);
        if (last.test(next.value)) break;
      }
      return read;
    },
    tell: (line) => void child.stdin.write(`${line}\n`),
    leave: () => void child.stdin.end(),
    async kill() {
      child.kill("SIGKILL");
      await closed;
    },
  };
}
