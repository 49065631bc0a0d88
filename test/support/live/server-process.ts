import { startReferenceServer } from "../../../packages/reference-server/src/server.ts";
import { answerAsAsked } from "./understanding-model.ts";

// A server of its own process, as Azure, which takes the key that it is given: says its address, and serves until its input ends.
const [key = ""] = process.argv.slice(2);
await using server = await startReferenceServer({ azure: { keys: [key] }, answer: answerAsAsked });
process.stdout.write(`${server.url}\n`);
for await (const _ of process.stdin);
