import { parentPort, workerData } from "node:worker_threads";
import { openSqliteStore } from "../../../src/stores/sqlite/store.ts";

/** A thread that holds a lease of the store whose path it is given, tells it, and waits until it is terminated. */
const store = await openSqliteStore(String(workerData));
parentPort?.postMessage(await store.liveness?.hold());
setInterval(() => undefined, 60_000);
