import { TurnlogStore } from "../src/conversation/turnlog-store.ts";
import { openSqliteStore } from "../src/stores/sqlite/store.ts";
import { fillConversation } from "./studio-stores.ts";

/** Fills a store with one conversation of about so many events, and prints its id; for `studio.ts`. */
const [path = "", events = "0"] = process.argv.slice(2);
await using store = new TurnlogStore(await openSqliteStore(path));
process.stdout.write(await fillConversation(store, Number(events)));
