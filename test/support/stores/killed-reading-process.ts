import { filesOf } from "../../../src/stores/sqlite/files.ts";

/** Reads the files of a store, and is killed at the first piece. */
const [path = ""] = process.argv.slice(2);
for await (const file of filesOf(path)) for await (const _ of file) process.kill(process.pid, "SIGKILL");
