import { TurnlogStore } from "../src/conversation/turnlog-store.ts";
import { openSqliteStore } from "../src/stores/sqlite/store.ts";
import { heldBytes } from "./held-bytes.ts";

/** Opens one conversation and prints how much memory it holds; for `opening.ts`, with `--expose-gc`. */
const [path = "", id = ""] = process.argv.slice(2);
await using store = new TurnlogStore(await openSqliteStore(path, { mustExist: true }));
// Compiles the code and loads the library before the measurement.
await store.conversation("cnv_warm_up").append("hello");
const before = heldBytes();
const conversation = store.conversation(id);
await conversation.append("and then?");
const held = heldBytes() - before;
const { length } = await conversation.turn();
process.stdout.write(JSON.stringify({ heldBytes: held, blocks: length }));
