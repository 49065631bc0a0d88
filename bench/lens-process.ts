import * as z from "zod";
import { TurnlogStore } from "../src/conversation/turnlog-store.ts";
import { createEngine } from "../src/engine/options/create-engine.ts";
import { tool } from "../src/engine/ports/tool.ts";
import { lens } from "../src/middleware/lens.ts";
import { scripted } from "../src/providers/scripted/scripted.ts";
import { createMemoryStore } from "../src/stores/memory/store.ts";
import { heldBytes } from "./held-bytes.ts";

/** Plays one tool loop, with or without a hiding layer, and prints its cost; for `lens.ts`, with `--expose-gc`. */
const [kind = "", stepsText = ""] = process.argv.slice(2);
const steps = Number(stepsText);
const shout = lens({
  name: "shout",
  version: "1.0.0",
  hide: (block) =>
    block.kind === "user" || block.kind === "tool_result" ? block.withText(block.text.toUpperCase()) : block,
});
const conversation = new TurnlogStore(createMemoryStore()).conversation();
for (let said = 0; said < 20; said += 1) await conversation.append(`What was said before, part ${said}.`);
const before = heldBytes();
let heldAtEnd = 0;
let called = 0;
const look = tool({
  name: "look",
  description: "Looks.",
  inputSchema: z.strictObject({}),
  execute: () => {
    called += 1;
    if (called === steps) heldAtEnd = heldBytes() - before;
    return "What was found here and there. ".repeat(10);
  },
});
const answers = Array.from({ length: steps }, () => ({ calls: [{ name: "look", arguments: "{}" }] }));
const engine = createEngine({
  provider: scripted([...answers, "Done."], { transport: "json" }),
  tools: [look],
  middleware: kind === "lens" ? [shout] : [],
  maxSteps: steps + 1,
});
const began = process.cpuUsage();
await conversation.run(engine);
const { user, system } = process.cpuUsage(began);
process.stdout.write(JSON.stringify({ ms: (user + system) / 1_000, heldBytes: heldAtEnd }));
