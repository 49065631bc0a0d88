import { join } from "node:path";
import { start } from "../process.ts";

const root = join(import.meta.dirname, "../../..");
export const exampleFolder = join(root, "examples/chat");
export const builtPage = join(root, "node_modules/.cache/chat-example");

/** The server of the example, in a process of its own over the sources. */
export async function startExample(store: string, port = 0) {
  const sources = join(root, "test/support/package/source-entries.ts");
  const { child, firstLine, ended } = start(process.execPath, ["--import", sources, join(exampleFolder, "server.ts")], {
    env: {
      ...process.env,
      PORT: String(port),
      STORE: store,
      PAGE: builtPage,
      DEMO_PAUSE_MS: "600",
      OPENAI_API_KEY: undefined,
    },
  });
  const kill = async (): Promise<void> => {
    child.kill("SIGKILL");
    await ended;
  };
  const url = await Promise.race([firstLine, ended.then(({ stderr }) => Promise.reject(new Error(stderr)))]);
  return {
    url: url.trim(),
    port: Number(new URL(url.trim()).port),
    kill,
    [Symbol.asyncDispose]: kill,
  };
}
