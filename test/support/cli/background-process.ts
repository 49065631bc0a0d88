import { openStore } from "../../../src/conversation/open-store.ts";
import { engine } from "./background-stack.ts";
import "../keep-compiled.ts";

/** Asks in the background, waits for the answer, and prints it: `node background-process.ts <store>`. */
await using store = await openStore(process.argv[2] ?? "");
const conversation = store.conversation("cnv_background");
await conversation.append("What is the answer to everything?");
console.log((await conversation.run(engine())).text);
