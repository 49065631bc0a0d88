import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

/** Starts the server in a process of its own, as unkind as a seed draws; disposing of it ends the process. */
export async function startServerProcess(unkindSeed = 0): Promise<AsyncDisposable & { readonly url: string }> {
  const program = fileURLToPath(new URL("server-process.ts", import.meta.url));
  const child = spawn(process.execPath, [program, String(unkindSeed)], { stdio: ["pipe", "pipe", "inherit"] });
  // It does not outlive a starter that crashes either: its input ends then.
  for await (const url of createInterface({ input: child.stdout })) {
    return {
      url,
      async [Symbol.asyncDispose]() {
        child.stdin.end();
        if (child.exitCode === null) await once(child, "exit");
      },
    };
  }
  throw new Error("the server did not start");
}
