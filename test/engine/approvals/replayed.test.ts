import { expect, test } from "vitest";
import { whatIf } from "../../../src/replay/counterfactual.ts";
import { reexecute } from "../../../src/replay/re-execute.ts";
import { ann, refunds } from "../../support/run/approvals.ts";
import { createScene } from "../../support/run/scene.ts";
import { calling } from "../../support/run/tool-runs.ts";
import { eventsOf } from "../../support/workshop.ts";

const calls = calling(["refund", '{"amount":5}', "a"], ["refund", '{"amount":6}', "b"]);

test("a replay and a counterfactual ask nobody, run nothing, and find what was decided in the log", async () => {
  const asked: unknown[] = [];
  const { tool, runs } = refunds({
    needsApproval: (input) => {
      asked.push(input);
      return true;
    },
  });
  const scene = createScene([calls, "an answer"], { tools: [tool] });
  const { conversation, engine } = scene.process();
  await conversation.append("hello");
  const [first, second] = (await conversation.run(engine)).waitingFor;
  expect(await reexecute(conversation, engine)).toMatchObject({ runs: 1, difference: null });
  await conversation.approve(first?.blockId ?? "", { actor: ann, input: { amount: 2 } });
  await conversation.deny(second?.blockId ?? "", { actor: ann });
  await conversation.run(engine);
  const before = { asked: asked.length, events: (await eventsOf(conversation)).length };
  expect(await reexecute(conversation, engine)).toMatchObject({ runs: 1, steps: 2, difference: null });
  const { steps, unknown } = await whatIf(conversation, engine);
  expect({ unknown, same: steps.map(({ readsSame }) => readsSame) }).toEqual({ unknown: null, same: [true, true] });
  expect({ asked: asked.length, events: (await eventsOf(conversation)).length }).toEqual(before);
  expect(runs).toEqual([2]);
  expect((await conversation.verify()).isSound).toBe(true);
});
