import * as z from "zod";
import { tool } from "../../src/engine/ports/tool.ts";
import { scripted } from "../../src/providers/scripted/scripted.ts";
import { createRandom } from "./coherence/random.ts";
import { RandomStack } from "./run/random-stack.ts";
import { Truth } from "./truth.ts";
import { createWorkshop, type Workshop } from "./workshop.ts";

/** The tool that drawn answers call. */
export const lookUpTool = (stack: RandomStack) =>
  tool({
    name: "look-up",
    description: "Looks up.",
    inputSchema: z.looseObject({}),
    execute: (): string => stack.lookUp(),
  });

/** Runs of layers that edit as they like, with tools and refusals, and messages from outside. */
export async function randomConversation(seed: number, encoding: "json" | "lines" = "lines"): Promise<Workshop> {
  const random = createRandom(seed);
  const workshop = createWorkshop({ encoding });
  const { conversation } = workshop;
  const stack = new RandomStack(random, new Truth(() => 0));
  const lookUp = lookUpTool(stack);
  for (let runs = 2 + random.below(4); runs > 0; runs -= 1) {
    await conversation.append(stack.word("said"));
    if (random.chance(0.3))
      await conversation.relabel({ title: stack.word("title"), labels: { [`label-${runs}`]: "" } });
    // Of two prefixes one comes again: contexts of an earlier run are anchors then.
    const provider = scripted(() => stack.answer(), { prefix: `${seed}_${random.below(2)}_` });
    const middleware = Array.from({ length: 1 + random.below(2) }, (_, n) => stack.layer(`layer-${n}`));
    const engine = workshop.engine({ provider, tools: [lookUp], middleware, maxSteps: 4 });
    const running = conversation.run(engine).catch(() => null);
    if (random.chance(0.3)) await conversation.append(stack.word("said meanwhile"));
    await running;
  }
  return workshop;
}
