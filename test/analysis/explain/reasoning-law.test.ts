import { expect, onTestFinished, test } from "vitest";
import type { ComparedReasoning } from "../../../src/analysis/explain/reasoning-report.ts";
import { cases, firstSeed, isTelling } from "../../support/cases.ts";
import { playThinking, startThinkingServer, type Thought } from "../../support/reasoning/thinking-world.ts";

type Shown = { seed: number; revision: number; what: string };

const named = ({ itemId, fate, reason, withheld }: ComparedReasoning): string =>
  `${itemId} ${fate} (${reason}), the server said ${withheld}`;

/**
 * Where turnlog's prediction and the server's word, two rules written apart, disagree about a request: what would be refused is
 * left out before it is sent, and nothing else is for that.
 */
function disagreements({ report, refusal }: Thought): readonly string[] {
  const surprises = report.blocks.filter(({ isSurprise }) => isSurprise).map(named);
  const unknown = report.unknown.map(({ itemId, reason }) => `the server said ${reason} of ${itemId}`);
  const isBound = refusal?.includes("bound to a different conversation") === true;
  if (isBound) unknown.push(`it refused what was to be left out: ${refusal}`);
  const wronglyLeft = report.blocks.filter(({ reason, prefix }) => reason === "broken-prefix" && prefix !== "broken");
  unknown.push(...wronglyLeft.map(named));
  const refused = report.blocks.find(({ fate }) => fate === "refused");
  if (refused !== undefined) unknown.push(`it was sent ${named(refused)}`);
  return [...surprises, ...unknown];
}

test.each(["withholds", "refuses"] as const)(
  "what becomes of reasoning is what a server that %s says, whatever was edited",
  { timeout: 3_600_000 },
  async (checks) => {
    const server = await startThinkingServer(checks);
    onTestFinished(() => server[Symbol.asyncDispose]());
    const counted = { edits: 0 };
    const wrong: Shown[] = [];
    const seen = new Set<string>();
    const wanted = cases(15, 5_000, 40);
    for (let seed = firstSeed; counted.edits < wanted; seed += 1) {
      for (const thought of await playThinking(seed, { server, counted })) {
        for (const what of disagreements(thought)) wrong.push({ seed, revision: thought.report.revision, what });
        for (const { fate, reason, prefix } of thought.report.blocks) seen.add(`${prefix} ${fate} ${reason}`);
      }
      server.clear();
    }
    console.info(`reasoning: ${counted.edits} edits, a server that ${checks}: ${[...seen].sort().join("; ")}`);
    expect(wrong).toEqual([]);
    if (!isTelling) return;
    // What was drawn has met what it is about.
    const broken = `broken ${checks === "refuses" ? "left-out broken-prefix" : "withheld prefix"}`;
    expect([...seen]).toEqual(expect.arrayContaining([broken, "intact accepted null", "broken left-out broken-group"]));
  },
);
