import { writeSync } from "node:fs";
import { startEventStoreDbServer } from "./server.ts";

/**
 * The server as a process of its own, so that what it costs is not counted for its clients, and what they do does not
 * hold it up: `node server-process.ts` says its address in a line, and ends when its input does.
 */
const server = await startEventStoreDbServer();
writeSync(1, `${server.connectionString}\n`);
process.stdin.resume();
await new Promise((resolve) => process.stdin.once("close", resolve));
await server.stop();
