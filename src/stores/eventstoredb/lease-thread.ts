import { parentPort, workerData } from "node:worker_threads";
import { type LeaseTask, renewLease } from "./lease-renewal.ts";

/** The thread of a lease: nothing that its process does keeps it from renewing, not even an event loop that is busy for minutes. */
const ending = new AbortController();
parentPort?.once("message", () => ending.abort());
// `lease-holder.ts` starts this thread, and with nothing else.
const task = workerData as LeaseTask;
await renewLease(task, { ending: ending.signal, say: (news) => parentPort?.postMessage(news) });
parentPort?.close();
