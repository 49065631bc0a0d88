import { writeSync } from "node:fs";
import { createRandom } from "../coherence/random.ts";
import { startEventStoreDbCluster } from "./server.ts";
import { drawUnkindness } from "./unkindness.ts";

/**
 * The server as a process of its own, so that what it costs is not counted for its clients, and what they do does not
 * hold it up: `node server-process.ts [seed] [nodes]` says its address in a line, and ends when its input does. With a
 * seed it is as unkind as that draws; 0 is a kind one.
 */
const [seed = "0", nodes = "1"] = process.argv.slice(2);
const unkindness = seed === "0" ? {} : drawUnkindness(createRandom(Number(seed)));
const cluster = await startEventStoreDbCluster({ nodes: Number(nodes), unkindness });
writeSync(1, `${cluster.connectionString}\n`);
process.stdin.resume();
await new Promise((resolve) => process.stdin.once("close", resolve));
await cluster.stop();
