import { writeSync } from "node:fs";
import { createInterface } from "node:readline";
import { createStore } from "../../../src/conversation/open-store.ts";
import { createEngine } from "../../../src/engine/options/create-engine.ts";
import { thisProcess } from "../../../src/log/writer/owner.ts";
import { scripted } from "../../../src/providers/scripted/scripted.ts";
import { openWithPace } from "../../../src/stores/eventstoredb/open.ts";
import "../keep-compiled.ts";

/**
 * A process of another machine, as the log has it, that runs a conversation of an EventStoreDB store:
 * `node leasing-process.ts <url> <conversation> <wait | block>`. It says `began` once its model is asked, and is silent then: with an
 * event loop that never turns again, or until it is told `answer` or `close`. It says how the run ended, and what it was warned of.
 */
const [url = "", id = "", mode = ""] = process.argv.slice(2);
Object.assign(thisProcess(), { host: "elsewhere", bootId: "of another machine" });
const say = (...words: readonly unknown[]): void => void writeSync(1, `${words.join(" ")}\n`);
const warn = (message: string): void => say("warned", message);
const pace = { renewMs: 20, deadAfterMs: 200, lookMs: 20 };
const store = createStore(await openWithPace(url, { viewsPath: ":memory:", warn }, pace));
const script = scripted(["an answer"]);
const answer = Promise.withResolvers<undefined>();
const provider = {
  ...script,
  async infer(request: Parameters<typeof script.infer>[0]) {
    say("began");
    if (mode === "block") Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
    await Promise.race([answer.promise, new Promise((stop) => request.signal.addEventListener("abort", stop))]);
    request.signal.throwIfAborted();
    return script.infer(request);
  },
};
createInterface({ input: process.stdin }).on("line", (line) => {
  if (line === "answer") answer.resolve(undefined);
  else void store.close();
});
try {
  await store.conversation(id).run(createEngine({ provider }));
  say("completed");
} catch (error) {
  say("ended", error instanceof Error && "code" in error ? error.code : error);
}
process.stdin.destroy();
await store.close();
