import { describe, expect, test, vi } from "vitest";
import * as z from "zod";
import { commit } from "../../../src/conversation/commit.ts";
import { toolResult } from "../../../src/domain/make-block.ts";
import type { ApprovalQuestion } from "../../../src/engine/options/approvals.ts";
import type { EngineConfig } from "../../../src/engine/options/create-engine.ts";
import { externalTool } from "../../../src/engine/ports/tool.ts";
import { ann, bob, refunds } from "../../support/run/approvals.ts";
import { asked, beforeRequest, createScene, dieAt, inTool, layer, textsOf } from "../../support/run/scene.ts";
import { calling } from "../../support/run/tool-runs.ts";
import { eventsOf, rejectionOf, typesOf } from "../../support/workshop.ts";

const one = [calling(["refund", '{"amount":5}']), "an answer", "another answer"];
const two = [calling(["refund", '{"amount":1}', "a"], ["refund", '{"amount":2}', "b"]), "an answer", "another answer"];

/** A scene in which calls wait, and who they are. */
async function waiting(answers = one, config: Partial<EngineConfig> = {}, options: Parameters<typeof refunds>[0] = {}) {
  const { tool: refund, runs } = refunds(options);
  const scene = createScene(answers, { tools: [refund], ...config });
  const { conversation, engine } = scene.process();
  await conversation.append("hello");
  const { waitingFor } = await conversation.run(engine);
  return { scene, conversation, engine, runs, calls: waitingFor.map(({ blockId }) => blockId), waitingFor };
}

const passing = layer("passing", (turn, next) => next(turn));

describe("a crash", () => {
  test("before the question is recorded asks again, and after it the call waits", async () => {
    const { tool: refund, runs } = refunds();
    // The answer was not durable yet either, so the model is asked again.
    const scene = createScene([calling(["refund", '{"amount":4}']), ...one], { tools: [refund] });
    const first = scene.process();
    await first.conversation.append("hello");
    const isParking =
      (phase: "before" | "after") => (stop: { kind: string; phase: string; entries?: readonly unknown[] }) =>
        stop.kind === "append" && stop.phase === phase && JSON.stringify(stop.entries).includes("ApprovalRequested");
    await dieAt(first, isParking("before"));
    expect(typesOf(await eventsOf(first.conversation))).not.toContain("ApprovalRequested");
    await dieAt(scene.process(), isParking("after"));
    const { conversation, engine } = scene.process();
    const result = await conversation.run(engine);
    expect(result).toMatchObject({ status: "parked", waitingFor: [{ kind: "approval", input: { amount: 5 } }] });
    expect(asked(scene.provider)).toBe(2);
    expect(runs).toEqual([]);
  });

  test("after an approval begins the call once", async () => {
    const { scene, conversation, runs, calls } = await waiting();
    await conversation.approve(calls[0] ?? "", { actor: ann });
    await dieAt(scene.process(), inTool("refund", "before"));
    const { engine } = scene.process();
    // Its start is durable: whether it ran is unknown.
    const { waitingFor } = await conversation.run(engine);
    expect(waitingFor).toMatchObject([{ kind: "doubt" }]);
    expect(runs).toEqual([]);
    await conversation.settle(calls[0] ?? "", { how: "rerun" }, ann);
    expect(await conversation.run(engine)).toMatchObject({ status: "completed" });
    expect(runs).toEqual([5]);
  });

  test("of an idempotent call with edited arguments repeats it with these", async () => {
    const { scene, conversation, runs, calls, engine } = await waiting(one, {}, { idempotent: true });
    await conversation.approve(calls[0] ?? "", { actor: ann, input: { amount: 3 } });
    await dieAt(scene.process(), inTool("refund", "after"));
    expect(await conversation.run(engine)).toMatchObject({ status: "completed" });
    expect(runs).toEqual([3, 3]);
  });

  test("between two approved calls never runs one of them twice", async () => {
    const { scene, conversation, runs, calls, engine } = await waiting(two);
    for (const call of calls) await conversation.approve(call, { actor: ann });
    await dieAt(scene.process(), beforeRequest(0));
    expect(await conversation.run(engine)).toMatchObject({ status: "completed" });
    expect(runs.toSorted()).toEqual([1, 2]);
  });
});

test("a process that does not know of the rule cannot begin the call either", async () => {
  const { scene, runs, conversation } = await waiting();
  const { tool: free, runs: freeRuns } = refunds({ needsApproval: false });
  const other = scene.process({ tools: [free] });
  expect(await other.conversation.run(other.engine)).toMatchObject({ status: "parked" });
  expect([...runs, ...freeRuns]).toEqual([]);
  const run = (await conversation.at(-1)).run;
  const data = { blockId: run?.waitingFor[0]?.blockId ?? "", name: "refund", idempotencyKey: "k" };
  // The writer of any process decides so.
  const event = { type: "ToolStarted", version: 1, data } as never;
  const started = await rejectionOf(conversation[commit]([{ event, actor: { kind: "engine" }, runId: run?.id ?? "" }]));
  expect(started).toMatchObject({ message: expect.stringContaining("tool-not-approved") as string });
});

describe("a deploy with other layers", () => {
  test("changes nothing while something waits, and no question is lost", async () => {
    const { scene, conversation } = await waiting(two);
    const before = (await eventsOf(conversation)).length;
    const { engine } = scene.process({ middleware: [passing] });
    expect(await conversation.run(engine)).toMatchObject({ status: "parked", waitingFor: [{}, {}] });
    expect(await conversation.resume(engine)).toMatchObject({ status: "parked" });
    expect(await eventsOf(conversation)).toHaveLength(before);
  });

  test("runs approved calls by name and answers the others, ends the run, and a new one goes on with the results", async () => {
    const { scene, conversation, runs, calls } = await waiting(two);
    await conversation.approve(calls[0] ?? "", { actor: ann, input: { amount: 4 } });
    await conversation.deny(calls[1] ?? "", { actor: bob, message: "once is enough" });
    const { engine } = scene.process({ middleware: [passing] });
    expect(await rejectionOf(conversation.resume(engine))).toMatchObject({ code: "stack-changed" });
    expect(await conversation.run(engine)).toMatchObject({ status: "completed", text: "an answer" });
    expect(runs).toEqual([4]);
    const events = await eventsOf(conversation);
    expect(events.find(({ event }) => event.type === "RunFailed")).toMatchObject({
      event: { data: { kind: "stack-changed" } },
    });
    const texts = await textsOf(conversation);
    expect(texts[3]).toMatch(/with other arguments: \{"amount":4\}\n\nrefunded 4$/);
    expect(texts[4]).toBe("denied: once is enough");
    expect(asked(scene.provider)).toBe(2);
  });

  test("keeps calls that were all denied in the Turn: the model reads that, and is not asked anew", async () => {
    const { scene, conversation, calls } = await waiting();
    await conversation.deny(calls[0] ?? "", { actor: ann });
    const { engine } = scene.process({ middleware: [passing] });
    await conversation.run(engine);
    expect((await textsOf(conversation)).slice(1, 3)).toEqual([
      '{"amount":5}',
      "denied: a person did not allow this call",
    ]);
  });

  test("of a process that dies in an approved call leaves it in doubt, and never runs it twice", async () => {
    const { scene, conversation, runs, calls } = await waiting(two);
    for (const call of calls) await conversation.approve(call, { actor: ann });
    await dieAt(scene.process({ middleware: [passing] }), inTool("refund", "after"));
    expect(runs.length).toBeGreaterThan(0);
    const { engine } = scene.process({ middleware: [passing] });
    for (;;) {
      const { status, waitingFor } = await conversation.run(engine);
      if (status !== "parked") break;
      for (const { blockId, kind } of waitingFor) {
        expect(kind).toBe("doubt");
        await conversation.settle(blockId, { how: "result", output: "looked up" }, ann);
      }
    }
    expect(runs).toHaveLength(new Set(runs).size);
  });

  test("with a call that a crash left in doubt waits for it, and answers it once it is settled", async () => {
    const { tool: refund, runs } = refunds({ needsApproval: false });
    const scene = createScene(one, { tools: [refund] });
    const first = scene.process();
    await first.conversation.append("hello");
    await dieAt(first, inTool("refund", "after"));
    const { conversation, engine } = scene.process({ middleware: [passing] });
    const { waitingFor } = await conversation.run(engine);
    expect(waitingFor).toMatchObject([{ kind: "doubt", name: "refund" }]);
    await conversation.settle(waitingFor[0]?.blockId ?? "", { how: "result", output: "found in the ledger" }, ann);
    expect(await conversation.run(engine)).toMatchObject({ status: "completed" });
    expect((await textsOf(conversation))[2]).toBe("found in the ledger");
    expect(runs).toEqual([5]);
  });
});

describe("a message that comes while a call waits", () => {
  test("waits too, and gets its own answer after the run", async () => {
    const { conversation, engine, calls } = await waiting();
    await conversation.append("are you there?", { key: "m2" });
    expect(await conversation.run(engine, { key: "m2" })).toMatchObject({ status: "parked" });
    await conversation.approve(calls[0] ?? "", { actor: ann });
    expect(await conversation.run(engine, { key: "m2" })).toMatchObject({
      status: "completed",
      text: "another answer",
    });
    expect((await textsOf(conversation)).slice(2)).toEqual([
      "refunded 5",
      "an answer",
      "are you there?",
      "another answer",
    ]);
  });

  test("denies it if the caller says so, and then gets its own answer", async () => {
    const { conversation, engine, runs } = await waiting();
    expect(await conversation.run(engine, { onMessageWhileWaiting: "deny" })).toMatchObject({ status: "parked" });
    await conversation.append("never mind");
    const result = await conversation.run(engine, { onMessageWhileWaiting: "deny" });
    expect(result).toMatchObject({ status: "completed", text: "another answer" });
    expect(runs).toEqual([]);
    expect((await textsOf(conversation))[2]).toBe("denied: a new message came before a decision did");
  });
});

describe("an approval that expires", () => {
  const expiring = { needsApproval: { reason: "checked", expiresInMs: 60_000 } };

  test("counts as denied when the run is taken up, and the model reads until when", async () => {
    const { conversation, engine, scene, waitingFor, runs } = await waiting(one, {}, expiring);
    scene.clock.now += 61_000;
    expect(await conversation.run(engine)).toMatchObject({ status: "completed" });
    expect((await textsOf(conversation))[2]).toBe(`not approved: no decision came until ${waitingFor[0]?.expiresAt}`);
    expect(runs).toEqual([]);
  });

  test("is refused to the one who comes too late, and to nobody before", async () => {
    const { conversation, engine, scene, calls, runs } = await waiting(one, {}, expiring);
    scene.clock.now += 61_000;
    for (const late of [
      conversation.approve(calls[0] ?? "", { actor: ann }),
      conversation.deny(calls[0] ?? "", { actor: bob }),
    ])
      expect(await rejectionOf(late)).toMatchObject({ code: "approval-expired" });
    expect(typesOf(await eventsOf(conversation)).filter((type) => type === "ApprovalDecided")).toHaveLength(1);
    await conversation.run(engine);
    expect(runs).toEqual([]);
  });

  test("is not listed as waiting, and resumeAll tells the model", async () => {
    const { conversation, engine, scene } = await waiting(one, {}, expiring);
    const store = scene.store();
    expect((await store.list({ waitingFor: "approval" })).conversations).toMatchObject([
      { openRun: { state: "parked", waitingFor: [{ kind: "approval", name: "refund" }], isDecided: false } },
    ]);
    expect(await store.resumeAll(engine)).toEqual([]);
    scene.clock.now += 61_000;
    expect((await store.list()).conversations).toMatchObject([{ openRun: { state: "cut-off", isDecided: true } }]);
    expect((await store.list({ waitingFor: "approval" })).conversations).toEqual([]);
    expect(await store.resumeAll(engine)).toMatchObject([{ id: conversation.id, result: { status: "completed" } }]);
  });
});

test("lists find what waits by its kind, and resumeAll goes on with what was decided", async () => {
  const { conversation, engine, scene, calls, runs } = await waiting(two);
  const store = scene.store();
  const listed = async (waitingFor: "approval" | "doubt" | "external" | "any") =>
    (await store.list({ waitingFor })).conversations.length;
  expect([await listed("approval"), await listed("doubt"), await listed("external"), await listed("any")]).toEqual([
    1, 0, 0, 1,
  ]);
  await conversation.approve(calls[0] ?? "", { actor: ann });
  expect(await listed("approval")).toBe(1);
  const isDecided = async () => (await store.list()).conversations.map(({ openRun }) => openRun?.isDecided);
  expect(await isDecided()).toEqual([false]);
  expect(await store.resumeAll(engine)).toEqual([]);
  await conversation.deny(calls[1] ?? "", { actor: ann });
  expect(await listed("any")).toBe(0);
  expect(await isDecided()).toEqual([true]);
  expect(await store.resumeAll(engine)).toMatchObject([{ result: { status: "completed" } }]);
  expect(runs).toEqual([1]);
});

describe("a person who is there", () => {
  test("is asked first, one question after another, and the decision is recorded under their name", async () => {
    const questions: ApprovalQuestion[] = [];
    let open = 0;
    const { runs, waitingFor, conversation } = await waiting(two, {
      onApproval: async (question) => {
        expect(++open).toBe(1);
        questions.push(question);
        await new Promise((resolve) => setImmediate(resolve));
        open -= 1;
        return { how: questions.length === 1 ? "deny" : "approve", actor: ann };
      },
    });
    expect(waitingFor).toEqual([]);
    expect(questions).toMatchObject([{ name: "refund", input: { amount: 1 } }, { input: { amount: 2 } }]);
    expect(runs).toEqual([2]);
    const decided = (await eventsOf(conversation)).filter(({ event }) => event.type === "ApprovalDecided");
    expect(decided).toMatchObject([{ actor: ann }, { actor: ann }]);
  });

  test("holds approved calls back while another one waits for somebody else", async () => {
    const { runs, calls, conversation, scene } = await waiting(two, {
      onApproval: ({ input }) => (JSON.stringify(input).includes("1") ? { how: "approve", actor: ann } : null),
    });
    expect(runs).toEqual([]);
    expect(calls).toHaveLength(1);
    await conversation.deny(calls[0] ?? "", { actor: bob });
    const { engine } = scene.process({ onApproval: () => null });
    expect(await conversation.run(engine)).toMatchObject({ status: "completed" });
    expect(runs).toEqual([1]);
  });

  test("hears of edited arguments that the tool refuses, and may decide again", async () => {
    const refusals: (string | null)[] = [];
    const { runs, waitingFor } = await waiting(one, {
      onApproval: ({ refused }) => {
        refusals.push(refused);
        return { how: "edit", input: { amount: refused === null ? 900 : 9 }, actor: ann };
      },
    });
    expect(waitingFor).toEqual([]);
    expect(refusals).toEqual([null, expect.stringContaining("500")]);
    expect(runs).toEqual([9]);
  });

  test.each([
    ["throws", () => Promise.reject(new Error("no terminal"))],
    ["names nobody", () => ({ how: "approve", actor: { kind: "user" } }) as const],
    ["gives nonsense", () => "yes" as never],
  ])("who %s leaves the call waiting, with a warning", async (_, onApproval) => {
    const warned = vi.spyOn(process, "emitWarning").mockImplementation(() => undefined);
    const { runs, calls } = await waiting(one, { onApproval });
    expect(calls).toHaveLength(1);
    expect(runs).toEqual([]);
    expect(warned).toHaveBeenCalledOnce();
    warned.mockRestore();
  });

  test("is asked again when a later run finds the call undecided", async () => {
    const { scene, conversation, runs } = await waiting(one, { onApproval: () => null });
    const { engine } = scene.process({ onApproval: () => ({ how: "approve", actor: bob }) });
    expect(await conversation.run(engine)).toMatchObject({ status: "completed" });
    expect(runs).toEqual([5]);
  });
});

describe("the call of an external tool", () => {
  const locate = externalTool({ name: "locate", description: "x", inputSchema: z.object({ fine: z.boolean() }) });
  const script = [calling(["locate", '{"fine":true}', "c1"]), "an answer"];

  async function located(answers = script) {
    const scene = createScene(answers, { tools: [locate] });
    const { conversation, engine } = scene.process();
    await conversation.append("hello");
    const result = await conversation.run(engine);
    return { scene, conversation, engine, result, call: result.waitingFor[0]?.blockId ?? "" };
  }

  test("is parked without a start, and answered by a settlement", async () => {
    const { conversation, engine, result, call } = await located();
    expect(result).toMatchObject({
      status: "parked",
      waitingFor: [{ kind: "external", name: "locate", input: { fine: true } }],
    });
    expect(typesOf(await eventsOf(conversation)).slice(-2)).toEqual(["ToolParked", "RunParked"]);
    await expect(conversation.settle(call, { how: "rerun" })).rejects.toThrow(/does not run external tools/);
    await conversation.settle(call, { how: "result", output: { city: "Ghent" } });
    expect(await conversation.run(engine)).toMatchObject({ status: "completed", text: "an answer" });
    expect((await textsOf(conversation))[2]).toBe('{"city":"Ghent"}');
    expect(typesOf(await eventsOf(conversation))).not.toContain("ToolStarted");
  });

  test("is answered by an appended result, once however often it is delivered", async () => {
    const { conversation, engine } = await located();
    const result = toolResult({ callId: "c1", output: "Ghent" });
    expect(await conversation.append(result)).toMatchObject({ isNew: true });
    expect(await conversation.append(result)).toMatchObject({ isNew: false });
    await conversation.run(engine);
    expect((await textsOf(conversation))[2]).toBe("Ghent");
    expect(await rejectionOf(conversation.append(result))).toMatchObject({ code: "no-open-call" });
  });

  test("with invalid arguments is told to the model", async () => {
    const { conversation, result } = await located([calling(["locate", "{}", "c1"]), "an answer"]);
    expect(result).toMatchObject({ status: "completed" });
    expect((await textsOf(conversation))[2]).toMatch(/invalid arguments/);
  });

  test("is answered as what was settled after a deploy with other layers", async () => {
    const { conversation, scene, call } = await located();
    const { engine } = scene.process({ middleware: [passing] });
    expect(await conversation.run(engine)).toMatchObject({ status: "parked" });
    await conversation.settle(call, { how: "result", output: "Ghent" });
    expect(await conversation.run(engine)).toMatchObject({ status: "completed", text: "an answer" });
    expect((await textsOf(conversation))[2]).toBe("Ghent");
  });
});

test("a result that is appended for a call that waits for approval is refused: it has to be decided", async () => {
  const { conversation } = await waiting();
  const result = toolResult({ callId: "c0", output: "refunded" });
  expect(await rejectionOf(conversation.append(result))).toMatchObject({
    code: "no-open-call",
    message: expect.stringContaining("approve or deny the call run_") as string,
  });
});

describe("a run that waits", () => {
  test("has its calls answered as aborted in a fork", async () => {
    const { conversation } = await waiting();
    const fork = await conversation.fork();
    expect(await textsOf(fork)).toEqual(["hello", '{"amount":5}', "aborted"]);
  });

  test("is given up by abandon, which records that the approval expired; revert and compact need that first", async () => {
    const { conversation, calls } = await waiting();
    for (const change of [conversation.revertTo(1), conversation.compact({ how: "drop-exchanges" })])
      expect(await rejectionOf(change)).toBeInstanceOf(Error);
    await conversation.abandon({ actor: bob });
    const events = await eventsOf(conversation);
    expect(events.find(({ event }) => event.type === "ApprovalDecided")).toMatchObject({
      actor: bob,
      event: { data: { how: "expire" } },
    });
    expect(await textsOf(conversation)).toEqual(["hello", '{"amount":5}', "aborted"]);
    expect(await rejectionOf(conversation.approve(calls[0] ?? "", { actor: ann }))).toMatchObject({
      code: "not-waiting",
    });
  });

  test("is ended by cancel", async () => {
    const { conversation, engine } = await waiting();
    expect(await conversation.cancel()).toMatchObject({ status: "cancelled" });
    expect(await conversation.run(engine)).toMatchObject({ status: "completed" });
  });
});
