import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Conversation } from "../src/conversation/conversation.ts";
import { user } from "../src/domain/make-block.ts";
import { createEngine, type EngineConfig } from "../src/engine/options/create-engine.ts";
import type { Engine } from "../src/engine/options/engine.ts";
import { scripted } from "../src/providers/scripted/scripted.ts";

/** A text of a given length, as in conversations: words, quotes and line ends. */
export const textOf = (length: number, n = 0): string => `${n} ${sentences}`.slice(0, length);

const sentences = 'The flight "HAT136" leaves at 09:15, and the fare is 128 dollars; shall I book it?\n'.repeat(400);

/** A chat of `exchanges`: each a message of the user and a run that answers it, both of `bytes`. */
export async function chat(
  conversation: Conversation,
  options: { readonly exchanges: number; readonly bytes: number; readonly middleware?: EngineConfig["middleware"] },
): Promise<Engine> {
  const { exchanges, bytes, middleware = [] } = options;
  const engine = createEngine({
    provider: scripted(({ requestNumber }) => textOf(bytes, requestNumber), { transport: "json" }),
    middleware,
  });
  for (let n = 0; n < exchanges; n += 1) {
    await conversation.append(textOf(bytes, n));
    await conversation.run(engine);
  }
  return engine;
}

/** A conversation of imported messages: one event per block. */
export async function imported(conversation: Conversation, blocks: number, bytes: number): Promise<void> {
  const batch = 100;
  for (let n = 0; n < blocks; n += batch) {
    const messages = Array.from({ length: Math.min(batch, blocks - n) }, (_, index) => user(textOf(bytes, n + index)));
    await conversation.append(messages, { actor: { kind: "import", name: "bench" } });
  }
}

/** Runs work with a temporary folder for a store. */
export async function inFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), "turnlog-bench-"));
  try {
    return await work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
