import { TurnlogStore } from "../src/conversation/turnlog-store.ts";
import { openSqliteStore } from "../src/stores/sqlite/store.ts";
import { heldBytes } from "./held-bytes.ts";

/** Rebuilds one conversation and prints how much memory that took; for `memory.ts`, with `--expose-gc`. */
const [path = "", id = ""] = process.argv.slice(2);
await using store = new TurnlogStore(await openSqliteStore(path, { mustExist: true }));
const small = store.conversation("cnv_warm_up");
await small.append("Code is compiled and pages of the library are there before it counts.");
await small.turn();
const before = heldBytes();
const peakBefore = process.resourceUsage().maxRSS;
const turn = await store.conversation(id).turn();
const held = heldBytes() - before;
const payload = turn.blocks.reduce((bytes, block) => bytes + Buffer.byteLength(JSON.stringify(block.payload)), 0);
const peak = (process.resourceUsage().maxRSS - peakBefore) * 1_024;
process.stdout.write(JSON.stringify({ payloadBytes: payload, heldBytes: held, peakBytes: peak }));
