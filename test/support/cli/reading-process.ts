import { commandsByName } from "../../../src/apps/cli/command-list.ts";
import { execute } from "../../../src/apps/cli/program.ts";

/**
 * Runs commands as a user whom permissions bind, and prints what came of each as JSON:
 * `node reading-process.ts <file> <command>...`.
 */
const [path = "", ...commands] = process.argv.slice(2);
// All that is loaded on demand, while this user may still read it wherever it lies.
for (const { load } of commandsByName.values()) await load();
await import("../../../src/conversation/open-store.ts");
await import("../../../src/stores/sqlite/store.ts");
const nobody = 65_534;
if (process.getuid?.() === 0) process.setuid?.(nobody);
const outcomes = [];
for (const typed of commands) {
  const [out, err]: [string[], string[]] = [[], []];
  const code = await execute(["node", "turnlog", ...typed.split(" ")], {
    stdout: { write: (text) => out.push(text) },
    stderr: { write: (text) => err.push(text) },
    env: { TURNLOG_STORE: `sqlite:${path}` },
  });
  outcomes.push({ typed, code, stdout: out.join(""), stderr: err.join("") });
}
process.stdout.write(JSON.stringify(outcomes));
