import { expect, test } from "vitest";
import * as z from "zod";
import { TurnlogError } from "../../../src/base/turnlog-error.ts";
import type { ExternalToolDefinition } from "../../../src/engine/ports/tool.ts";
import { externalTool, tool } from "../../../src/engine/ports/tool.ts";
import { reexecute } from "../../../src/replay/re-execute.ts";
import { createScene } from "../../support/run/scene.ts";
import { calling } from "../../support/run/tool-runs.ts";
import { dataOf, eventsOf } from "../../support/workshop.ts";

type Reason = NonNullable<ExternalToolDefinition<{ readonly of: string }>["reason"]>;

/** A run that waits for the result of an external tool that says why. */
async function waiting(reason?: Reason) {
  const locate = externalTool({
    ...{ name: "locate", description: "x", inputSchema: z.object({ of: z.string() }) },
    ...(reason === undefined ? {} : { reason }),
  });
  const scene = createScene([calling(["locate", '{"of":"ada"}', "c1"]), "Found."], { tools: [locate] });
  const { conversation, engine } = scene.process();
  await conversation.append("Where is Ada?");
  const { waitingFor } = await conversation.run(engine);
  return { conversation, engine, waitingFor, parked: dataOf(await eventsOf(conversation), "ToolParked") };
}

test.each<readonly [string, Reason | undefined, string | null]>([
  ["a text", "her phone says where she is", "her phone says where she is"],
  [
    "what a function of the input returns",
    async ({ of }) => `${of} has to share where she is`,
    "ada has to share where she is",
  ],
  ["nothing if there is no reason", undefined, null],
  ["nothing if the reason is empty", "", null],
  [
    "nothing if the function throws",
    () => {
      throw new Error("no reason");
    },
    null,
  ],
])("the reason of an external tool is recorded, and is in waitingFor: %s", async (_, reason, expected) => {
  const { conversation, engine, waitingFor, parked } = await waiting(reason);
  expect(waitingFor).toMatchObject([{ kind: "external", reason: expected }]);
  expect(parked.map((data) => data.reason ?? null)).toEqual([expected]);
  // The process that takes the run up reads it too, and the model does not.
  expect((await conversation.run(engine)).waitingFor).toEqual(waitingFor);
  await conversation.settle(waitingFor[0]?.blockId ?? "", { how: "result", output: "Ghent" });
  expect(await conversation.run(engine)).toMatchObject({ text: "Found." });
  const { blocks } = await conversation.turn();
  expect(blocks.map(({ text }) => text)).toEqual(["Where is Ada?", '{"of":"ada"}', "Ghent", "Found."]);
  expect((await reexecute(conversation, engine)).difference).toBeNull();
});

test("a reason that is no text is refused when the tool is made", () => {
  const define = (reason: unknown): unknown =>
    externalTool({ name: "locate", description: "x", inputSchema: z.object({}), reason: reason as string });
  expect(() => define(5)).toThrow("externalTool 'locate': reason is 5: give a text, or a function");
});

test("what a tool says that cannot know its outcome is the reason of the doubt", async () => {
  const charge = tool({
    ...{ name: "charge", description: "x", inputSchema: z.object({}) },
    execute() {
      throw new TurnlogError("tool-in-doubt", "the bank's connection broke");
    },
  });
  const { conversation, engine } = createScene([calling(["charge", "{}", "c1"]), "Paid."], {
    tools: [charge],
  }).process();
  await conversation.append("Charge me.");
  const { waitingFor } = await conversation.run(engine);
  expect(waitingFor).toMatchObject([{ kind: "doubt", name: "charge", reason: "the bank's connection broke" }]);
  expect((await conversation.run(engine)).waitingFor).toEqual(waitingFor);
});
