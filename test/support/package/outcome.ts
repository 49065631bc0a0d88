import { execFile } from "node:child_process";

/** How a child process ended; `code` is null where a signal ended it. */
export type Outcome = { readonly code: number | null; readonly stdout: string; readonly stderr: string };

type Surroundings = { readonly cwd: string; readonly env?: Readonly<Record<string, string | undefined>> };

/** Runs a program to its end, whatever its exit code; `env` is added to this process's own. */
export const outcomeOf = (program: string, words: readonly string[], { cwd, env }: Surroundings): Promise<Outcome> =>
  new Promise((resolve, reject) => {
    const options = { cwd, env: { ...process.env, ...env }, maxBuffer: 64 * 1024 * 1024 };
    const child = execFile(program, words, options, (error, stdout, stderr) => {
      const isStarted = child.exitCode !== null || child.signalCode !== null;
      if (isStarted) resolve({ code: child.exitCode, stdout, stderr });
      else reject(new Error(`${program} does not start`, { cause: error }));
    });
  });

/** What a Node script prints; a script that fails fails the test with all that it said. */
export async function outputOf(words: readonly string[], surroundings: Surroundings): Promise<string> {
  const { code, stdout, stderr } = await outcomeOf(process.execPath, words, surroundings);
  if (code !== 0) throw new Error(`node ${words.join(" ")} ended with ${String(code)}:\n${stdout}${stderr}`);
  return stdout;
}
