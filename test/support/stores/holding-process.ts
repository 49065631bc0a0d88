import { openSqliteStore } from "../../../src/stores/sqlite/store.ts";
import "../keep-compiled.ts";

/** A process that holds a lease of a store: `node holding-process.ts <path>`. It says `holds <lease>`, and waits until it is killed. */
const store = await openSqliteStore(process.argv[2] ?? "");
process.stdout.write(`holds ${await store.liveness?.hold()}\n`);
process.stdin.resume();
