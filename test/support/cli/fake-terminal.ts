import { PassThrough } from "node:stream";
import { execute } from "../../../src/apps/cli/program.ts";
import { createScreenReader, type ScreenReader } from "../screen-reader.ts";

/** A command at a terminal that the test types into. */
export type AtTerminal = Pick<ScreenReader, "readTo" | "text"> & {
  readonly type: (text: string) => void;
  readonly code: Promise<number>;
};

/** Runs `turnlog` in this process at a terminal of 80 columns; the store is `turnlog.db` of the folder. */
export function turnlogAtTerminal(
  args: readonly string[],
  { cwd, config }: { readonly cwd: string; readonly config: string },
): AtTerminal {
  const stdin = Object.assign(new PassThrough(), { isTTY: true });
  const stdout = Object.assign(new PassThrough(), { isTTY: true, columns: 80 });
  const { show, readTo, end, text } = createScreenReader();
  stdout.on("data", (piece: Buffer) => {
    show(piece.toString());
  });
  const stderr = { write: show };
  const env = { TURNLOG_STORE: `sqlite:${cwd}/turnlog.db`, TURNLOG_CONFIG: config, NO_COLOR: "1" };
  const code = execute(["node", "turnlog", ...args], { stdin, stdout, stderr, env, cwd: () => cwd }).finally(end);
  return { readTo, text, code, type: (typed) => stdin.write(typed) };
}
