import { TurnlogStore } from "../src/conversation/turnlog-store.ts";
import { interceptedBy } from "../src/engine/run/run-options.ts";
import { openSqliteStore } from "../src/stores/sqlite/store.ts";
import { heldBytes } from "./held-bytes.ts";
import { dying, engineOf, id, untilAppend } from "./resume.ts";

/** Resumes an interrupted run and prints the memory that it holds where it continues; for `resume.ts`, with `--expose-gc`. */
const [path = "", refusals = "0"] = process.argv.slice(2);
await using store = new TurnlogStore(await openSqliteStore(path, { mustExist: true }));
const conversation = store.conversation(id);
const before = heldBytes();
let held = 0;
const gate = (): Promise<never> => {
  held = heldBytes() - before;
  return dying();
};
// The process that wrote the log is alive: it started this one.
await untilAppend(conversation.resume(engineOf(1_000, Number(refusals)), interceptedBy(gate, { takeover: true })));
let events = 0;
for await (const { revision } of conversation.events()) events = revision + 1;
process.stdout.write(JSON.stringify({ heldBytes: held, events }));
