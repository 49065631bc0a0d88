import { expect, test } from "vitest";
import type { RunPart } from "../../../src/engine/options/run-part.ts";
import { ann, refunds } from "../../support/run/approvals.ts";
import { createScene, dieAt, inTool, layer } from "../../support/run/scene.ts";
import { calling } from "../../support/run/tool-runs.ts";

const script = [calling(["refund", '{"amount":5}']), "an answer"];

/** A scene whose runs show the parts about approvals, calls and ends. */
function watched(answers = script) {
  const { tool, runs } = refunds({ needsApproval: "refunds are checked" });
  const shown: RunPart[] = [];
  const observers = [
    {
      next: (part: RunPart) =>
        /^(resumed|approval|tool-call-(start|end)|run-)/.test(part.type) ? shown.push(part) : 0,
    },
  ];
  return { scene: createScene(answers, { tools: [tool], observers }), shown, runs };
}

/** The parts since the last look, by type. */
const taken = (shown: RunPart[]): readonly string[] => shown.splice(0).map(({ type }) => type);

test("a call that waits is shown when it is asked about, and its decision when the run goes on", async () => {
  const { scene, shown } = watched();
  const { conversation, engine } = scene.process();
  await conversation.append("hello");
  const { waitingFor } = await conversation.run(engine);
  expect(shown).toMatchObject([
    { type: "run-start" },
    { type: "approval-requested", call: { kind: "tool_call" }, reason: "refunds are checked", expiresAt: null },
    { type: "run-end", result: { status: "parked" } },
  ]);
  shown.splice(0);
  await conversation.approve(waitingFor[0]?.blockId ?? "", { actor: ann, input: { amount: 7 }, message: "less" });
  const later = scene.process();
  await later.conversation.run(later.engine);
  expect(shown).toMatchObject([
    { type: "resumed" },
    { type: "approval-decided", how: "edit", actor: ann, input: { amount: 7 }, message: "less" },
    { type: "tool-call-start" },
    { type: "tool-call-end", outcome: "ok" },
    { type: "run-end", result: { status: "completed" } },
  ]);
});

test("a decision is shown before all of the log is met again, and once: a call that has begun was decided before", async () => {
  const answers = [calling(["refund", '{"amount":5}'], ["refund", '{"amount":6}']), "an answer"];
  const { scene, shown } = watched(answers);
  const { conversation, engine } = scene.process();
  await conversation.append("hello");
  const { waitingFor } = await conversation.run(engine);
  expect(taken(shown)).toEqual(["run-start", "approval-requested", "approval-requested", "run-end"]);
  for (const { blockId } of waitingFor) await conversation.deny(blockId, { actor: ann });
  await dieAt(scene.process(), (stop) => stop.kind === "inference");
  expect(taken(shown)).toEqual([
    "resumed",
    "approval-decided",
    "approval-decided",
    "tool-call-end",
    "tool-call-end",
    "run-failed",
  ]);
  const later = scene.process();
  await later.conversation.run(later.engine);
  expect(taken(shown)).toEqual(["resumed", "run-end"]);
});

test("a person who is there is shown as asked, and then as having decided", async () => {
  const { scene, shown } = watched();
  const { conversation, engine } = scene.process({ onApproval: async () => ({ how: "approve", actor: ann }) });
  await conversation.append("hello");
  await conversation.run(engine);
  expect(taken(shown)).toEqual([
    ...["run-start", "approval-requested", "approval-decided", "tool-call-start", "tool-call-end", "run-end"],
  ]);
});

test("a decided call is shown although another stack answers it", async () => {
  const { scene, shown } = watched([...script, "another answer"]);
  const { conversation, engine } = scene.process();
  await conversation.append("hello");
  const { waitingFor } = await conversation.run(engine);
  await conversation.approve(waitingFor[0]?.blockId ?? "", { actor: ann });
  shown.splice(0);
  const later = scene.process({ middleware: [layer("new", (turn, next) => next(turn))] });
  await later.conversation.run(later.engine);
  expect(taken(shown)).toEqual([
    ...["resumed", "approval-decided", "tool-call-start", "tool-call-end", "run-start", "run-end"],
  ]);
});

test("a call that had begun when its process died is not shown as decided again", async () => {
  const { scene, shown } = watched();
  const { conversation, engine } = scene.process();
  await conversation.append("hello");
  const { waitingFor } = await conversation.run(engine);
  await conversation.approve(waitingFor[0]?.blockId ?? "", { actor: ann });
  await dieAt(scene.process(), inTool("refund", "before"));
  shown.splice(0);
  const later = scene.process({ onInDoubt: () => ({ how: "rerun" }) });
  await later.conversation.run(later.engine);
  expect(taken(shown)).toEqual(["resumed", "tool-call-start", "tool-call-end", "run-end"]);
});
