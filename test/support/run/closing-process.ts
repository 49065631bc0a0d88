import { openStore } from "../../../src/conversation/open-store.ts";
import { createEngine } from "../../../src/engine/options/create-engine.ts";
import { endless } from "../gates.ts";
import "../keep-compiled.ts";

/**
 * A process that closes its store at SIGTERM, as a server does in a deploy: `node closing-process.ts <store> <conversation>`. It says
 * `began` once its model answers, which goes on for ever, how its run ended, and `closed`.
 */
const [url = "", id = ""] = process.argv.slice(2);
const store = await openStore(url);
process.once("SIGTERM", () => {
  void store.close({ graceMs: 5_000 }).then(() => console.log("closed"));
});
const observers = [
  {
    next({ type }: { readonly type: string }) {
      if (type === "text-delta") console.log("began");
    },
  },
];
// A request over a socket keeps a process alive; this model has none.
const alive = setInterval(() => undefined, 1_000);
try {
  await store.conversation(id).run(createEngine({ provider: endless(), observers }));
} catch (error) {
  console.log(error instanceof Error && "code" in error ? error.code : error);
}
clearInterval(alive);
