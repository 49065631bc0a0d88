import { expect, test } from "vitest";
import { commit } from "../../../src/conversation/commit.ts";
import type { Conversation } from "../../../src/conversation/conversation.ts";
import type { Owner } from "../../../src/domain/events/run-events.ts";
import { asked, beforeRequest, counted, createScene, dieAt } from "../../support/run/scene.ts";
import { calling } from "../../support/run/tool-runs.ts";
import { eventsOf, rejectionOf, typesOf } from "../../support/workshop.ts";

test("of two that take up one run at once, one proceeds and the other finds nothing to do", async () => {
  const lookUp = counted("look-up", true);
  const scene = createScene([calling(["look-up", "{}"]), "an answer"], { tools: [lookUp.tool] });
  const first = scene.process();
  await first.conversation.append("hello");
  await dieAt(first, beforeRequest(1));
  const lives = [scene.process(), scene.process()];
  const outcomes = await Promise.all(lives.map(({ conversation, engine }) => conversation.resume(engine)));
  expect(outcomes).toMatchObject([{ text: "an answer", resumed: true }, null]);
  expect(asked(scene.provider)).toBe(2);
});

test("a run that goes on in this very process is not taken up, not even by force", async () => {
  const scene = createScene(["slow"]);
  const { conversation, engine } = scene.process();
  await conversation.append("hello");
  const stepping = conversation.step(engine);
  const refusals: unknown[] = [];
  for await (const stop of stepping) {
    if (stop.kind !== "inference") continue;
    const other = scene.process();
    for (const takeover of [false, true])
      refusals.push(await rejectionOf(other.conversation.run(other.engine, { takeover, whileRunning: "throw" })));
  }
  expect(refusals).toMatchObject(Array.from({ length: 4 }, () => ({ code: "run-in-progress" })));
  expect((await stepping.result).text).toBe("slow");
});

const elsewhere: Owner = {
  processId: "prc_elsewhere",
  bootId: "boot",
  host: "elsewhere",
  pid: 4711,
  startedAt: "then",
  pidNamespace: "there",
};

/** A process of another machine takes the open run up. */
async function takeElsewhere(conversation: Conversation): Promise<string> {
  await conversation.turn();
  const runId = (await conversation.at(-1)).run?.id ?? "";
  const data = { epoch: 1, owner: elsewhere, stack: [] };
  const event = { type: "RunResumed", version: 1, data } as const;
  await conversation[commit]([{ event, actor: { kind: "recovery" }, runId, frame: "0" }]);
  return runId;
}

test("an owner whose run was taken over while it waited writes nothing more, and gets an error", async () => {
  const scene = createScene(["late"]);
  const { conversation, engine } = scene.process();
  await conversation.append("hello");
  const stepping = conversation.step(engine);
  const told = rejectionOf(stepping.result);
  for await (const { kind, phase } of stepping)
    if (kind === "inference" && phase === "after") await takeElsewhere(scene.process().conversation);
  expect(await told).toMatchObject({ code: "run-taken-over" });
  expect(typesOf(await eventsOf(conversation)).at(-1)).toBe("RunResumed");
});

test("a run of a living owner is taken by force, and the owner is refused when it comes back", async () => {
  const scene = createScene(["an answer"]);
  const first = scene.process();
  await first.conversation.append("hello");
  await dieAt(first, beforeRequest(0));
  const owner = scene.process().conversation;
  const runId = await takeElsewhere(owner);
  const { conversation, engine } = scene.process();
  expect(await rejectionOf(conversation.run(engine))).toMatchObject({ code: "run-in-progress", owner: elsewhere });
  expect(await conversation.run(engine, { takeover: true })).toMatchObject({ text: "an answer", resumed: true });
  const data = { blockIds: [] };
  const event = { type: "RunParked", version: 1, data } as const;
  const late = owner[commit]([{ event, actor: { kind: "engine" }, runId, frame: "0" }]);
  expect(String(await rejectionOf(late))).toContain("run-not-open");
});
