import { startAside } from "../process.ts";

/** Starts the server in a process of its own, as unkind as a seed draws; disposing of it ends the process. */
export async function startServerProcess(unkindSeed = 0): Promise<AsyncDisposable & { readonly url: string }> {
  const server = startAside("eventstoredb/server-process.ts", [String(unkindSeed)]);
  const [url] = await server.readTo(/./);
  if (url === undefined) throw new Error("the server did not start");
  return {
    url,
    async [Symbol.asyncDispose]() {
      // It does not outlive a starter that crashes either: its input ends then.
      server.leave();
      await server.closed;
    },
  };
}
