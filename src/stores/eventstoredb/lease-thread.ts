import { parentPort, workerData } from "node:worker_threads";
import { holdLease, type LeaseTask } from "./lease-renewal.ts";

/** The thread that renews a lease: a busy event loop of its process, even for minutes, does not stop it. */
const ending = new AbortController();
parentPort?.once("message", () => ending.abort());
// Only `liveness.ts` starts this thread, with this data.
const task = workerData as LeaseTask;
await holdLease(task, { ending: ending.signal, say: (news) => parentPort?.postMessage(news) });
parentPort?.close();
