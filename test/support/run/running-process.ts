import { writeSync } from "node:fs";
import { createInterface } from "node:readline";
import { openStore } from "../../../src/conversation/open-store.ts";
import { createEngine } from "../../../src/engine/options/create-engine.ts";
import { scripted } from "../../../src/providers/scripted/scripted.ts";
import "../keep-compiled.ts";

/**
 * A process of its own that runs conversations: `node running-process.ts <store> <hang | hold | race> <conversation>…`.
 * It says `open`, and runs the next conversation for every line it is told; it says `began <conversation> <nanoseconds>`
 * and `ended …` around each provider call, and how every run ended. A provider that hangs never answers, one that holds
 * answers at the next line.
 */
const [url = "", mode = "", ...ids] = process.argv.slice(2);
const store = await openStore(url);
const say = (...words: readonly unknown[]): void => void writeSync(1, `${words.join(" ")}\n`);

async function run(id: string): Promise<void> {
  const script = scripted(() => "an answer", { prefix: `p${process.pid}_` });
  const provider = {
    ...script,
    async infer(request: Parameters<typeof script.infer>[0]) {
      say("began", id, process.hrtime.bigint());
      if (mode === "hang") await new Promise(() => setInterval(() => undefined, 1_000));
      if (mode === "hold") await told.next();
      // Long enough for the other process to come in between, if it could.
      await new Promise((resolve) => setTimeout(resolve, 2));
      const answer = await script.infer(request);
      say("ended", id, process.hrtime.bigint());
      return answer;
    },
  };
  try {
    await store.conversation(id).run(createEngine({ provider }));
    say("completed", id);
  } catch (error) {
    say("refused", id, error instanceof Error && "code" in error ? error.code : error);
  }
}

const told = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
say("open");
for (const id of ids) {
  await told.next();
  await run(id);
}
process.stdin.destroy();
await store.close();
