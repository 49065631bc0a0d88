import { parentPort, workerData } from "node:worker_threads";
import * as z from "zod";
import { openStore } from "../../../src/conversation/open-store.ts";
import { createEngine } from "../../../src/engine/options/create-engine.ts";
import { scripted } from "../../../src/providers/scripted/scripted.ts";

/** A thread that runs a conversation of a store; it says `began`, and its model answers when it is told to. */
const { url, id } = z.object({ url: z.string(), id: z.string() }).parse(workerData);
const script = scripted(["an answer of the thread"]);
const provider = {
  ...script,
  async infer(request: Parameters<typeof script.infer>[0]) {
    const told = new Promise((resolve) => parentPort?.once("message", resolve));
    parentPort?.postMessage("began");
    await told;
    return script.infer(request);
  },
};
const store = await openStore(url);
const { text } = await store.conversation(id).run(createEngine({ provider }));
await store.close();
parentPort?.postMessage(text);
