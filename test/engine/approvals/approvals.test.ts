import { describe, expect, test } from "vitest";
import * as z from "zod";
import { tool } from "../../../src/engine/ports/tool.ts";
import { ann, bob, refunds } from "../../support/run/approvals.ts";
import { asked, counted, createScene, layer, textsOf } from "../../support/run/scene.ts";
import { calling } from "../../support/run/tool-runs.ts";
import { eventsOf, rejectionOf, typesOf } from "../../support/workshop.ts";

const script = [calling(["refund", '{"amount":5}']), "an answer"];

/** One call that waits. */
async function waiting(options: Parameters<typeof refunds>[0] = {}, answers = script) {
  const { tool: refund, runs } = refunds(options);
  const scene = createScene(answers, { tools: [refund] });
  const { conversation, engine } = scene.process();
  await conversation.append("hello");
  const result = await conversation.run(engine);
  return { scene, conversation, engine, result, runs, call: result.waitingFor[0]?.blockId ?? "" };
}

describe("a call that needs approval", () => {
  test("does not begin: the question and the end of the process's part are one append", async () => {
    const { conversation, result, runs, scene } = await waiting({ needsApproval: "refunds are checked" });
    expect(runs).toEqual([]);
    expect(result).toMatchObject({
      status: "parked",
      waitingFor: [{ kind: "approval", name: "refund", input: { amount: 5 }, reason: "refunds are checked" }],
    });
    const events = await eventsOf(conversation);
    expect(typesOf(events).slice(-2)).toEqual(["ApprovalRequested", "RunParked"]);
    expect(typesOf(events)).not.toContain("ToolStarted");
    const again = scene.process();
    expect(await again.conversation.run(again.engine)).toMatchObject({
      status: "parked",
      waitingFor: result.waitingFor,
    });
    expect(await eventsOf(conversation)).toHaveLength(events.length);
  });

  test("runs once it is approved by a named person, in another process too", async () => {
    const { call, runs, scene, conversation } = await waiting();
    expect(await conversation.approve(call, { actor: ann })).toEqual({ isNew: true });
    const { engine, conversation: other } = scene.process();
    expect(await other.run(engine)).toMatchObject({ status: "completed", text: "an answer", waitingFor: [] });
    expect(runs).toEqual([5]);
    expect((await textsOf(other))[2]).toBe("refunded 5");
    expect(await other.run(engine)).toMatchObject({ isNew: false });
    expect(runs).toEqual([5]);
  });

  test.each([
    [{ actor: ann }, "denied: a person did not allow this call"],
    [{ actor: ann, message: "ask the shop first" }, "denied: ask the shop first"],
  ])("never begins once it is denied, and the model reads why: %j", async (options, told) => {
    const { call, runs, conversation, engine } = await waiting();
    await conversation.deny(call, options);
    expect(await conversation.run(engine)).toMatchObject({ status: "completed", text: "an answer" });
    expect(runs).toEqual([]);
    expect((await textsOf(conversation))[2]).toBe(told);
    const finished = (await eventsOf(conversation)).find(({ event }) => event.type === "ToolFinished");
    expect(finished).toMatchObject({ actor: ann, event: { data: { outcome: "denied" } } });
  });

  test("runs with edited arguments, and the result says so, but the model's call stays as it was", async () => {
    const { call, runs, conversation, engine } = await waiting();
    await conversation.approve(call, { actor: ann, input: { amount: 3 }, message: "no more than 3" });
    await conversation.run(engine);
    expect(runs).toEqual([3]);
    const [, made, told] = await textsOf(conversation);
    expect(made).toBe('{"amount":5}');
    expect(told).toBe(
      'A person approved this call with other arguments: {"amount":3}\nThey said: no more than 3\n\nrefunded 3',
    );
  });

  test("is not approved with arguments that the tool's schema refuses: the approver hears of it, and nothing is written", async () => {
    const { call, runs, conversation, engine } = await waiting();
    const before = await eventsOf(conversation);
    for (const input of [{ amount: 900 }, { amount: "3" }, {}])
      expect(await rejectionOf(conversation.approve(call, { actor: ann, input }))).toMatchObject({
        code: "approval-input",
      });
    expect(await eventsOf(conversation)).toHaveLength(before.length);
    expect(await conversation.run(engine)).toMatchObject({ status: "parked" });
    expect(runs).toEqual([]);
  });

  test("is asked about anew if only the tool itself refuses the edited arguments", async () => {
    const inputSchema = z.object({ amount: z.number().refine((amount) => amount !== 4, "not four") });
    const { call, runs, conversation, engine } = await waiting({ inputSchema });
    await conversation.approve(call, { actor: ann, input: { amount: 4 } });
    const { waitingFor } = await conversation.run(engine);
    expect(waitingFor).toMatchObject([{ kind: "approval", blockId: call, input: { amount: 5 } }]);
    expect(waitingFor[0]?.reason).toMatch(/the edited input was refused: .*not four/);
    await conversation.approve(call, { actor: ann, input: { amount: 2 } });
    expect(await conversation.run(engine)).toMatchObject({ status: "completed" });
    expect(runs).toEqual([2]);
  });

  test("takes the first decision: the same again changes nothing, another one is refused", async () => {
    const { call, conversation, engine, runs } = await waiting();
    await conversation.approve(call, { actor: ann, key: "delivery-1" });
    const events = await eventsOf(conversation);
    expect(await conversation.approve(call, { actor: bob })).toEqual({ isNew: false });
    const others = [
      conversation.deny(call, { actor: bob }),
      conversation.approve(call, { actor: bob, input: { amount: 1 } }),
      conversation.approve(call, { actor: bob, message: "but only once" }),
    ];
    for (const other of others)
      expect(await rejectionOf(other)).toMatchObject({
        code: "approval-decided",
        message: expect.stringContaining("user ann") as string,
      });
    expect(await eventsOf(conversation)).toHaveLength(events.length);
    await conversation.run(engine);
    expect(runs).toEqual([5]);
    expect(await rejectionOf(conversation.approve(call, { actor: ann }))).toMatchObject({ code: "not-waiting" });
    expect(await conversation.approve(call, { actor: ann, key: "delivery-1" })).toEqual({ isNew: false });
  });

  test.each([
    ["refund", "not-waiting", /give the id of its block, not the tool's name/],
    ["blk_0123456789abcdef", "not-waiting", /run_\w+\/0\.0\/0 \(refund\) does/],
  ])("is not decided by %s", async (name, code, message) => {
    const { conversation } = await waiting();
    expect(await rejectionOf(conversation.approve(name, { actor: ann }))).toMatchObject({
      code,
      message: expect.stringMatching(message) as string,
    });
  });

  test.each([[undefined], [{ kind: "user" }], [{ kind: "engine", name: "x" }], ["ann"], [{ kind: "user", name: "" }]])(
    "is not decided by %j, who is no named person",
    async (actor) => {
      const { conversation, call } = await waiting();
      const before = (await eventsOf(conversation)).length;
      // What JavaScript may give.
      const options = { actor } as unknown as Parameters<typeof conversation.deny>[1];
      await expect(conversation.approve(call, options)).rejects.toThrow(/say who decides/);
      await expect(conversation.deny(call, options)).rejects.toThrow(TypeError);
      expect(await eventsOf(conversation)).toHaveLength(before);
    },
  );

  test("is not asked about while its arguments are invalid: the model hears of them", async () => {
    const answers = [calling(["refund", '{"amount":"five"}']), calling(["refund", '{"amount":5}']), "an answer"];
    const { result, conversation } = await waiting({}, answers);
    expect(result).toMatchObject({ status: "parked", waitingFor: [{ input: { amount: 5 } }] });
    expect((await conversation.at(-1)).run).not.toBeNull();
    const types = typesOf(await eventsOf(conversation));
    expect(types.filter((type) => type === "ApprovalRequested")).toHaveLength(1);
    expect(types.filter((type) => type === "ToolFinished")).toHaveLength(1);
  });
});

describe("whether a call needs approval", () => {
  test.each([
    [{}, true],
    [{ needsApproval: false }, false],
    [{ needsApproval: ({ amount }: { readonly amount: number }) => amount > 5 }, false],
    [{ needsApproval: async ({ amount }: { readonly amount: number }) => (amount > 4 ? "too much" : false) }, true],
    [{ needsApproval: () => ({ reason: "rules" }) }, true],
    [
      {
        needsApproval: () => {
          throw new Error("the rules are down");
        },
      },
      true,
    ],
    // A rule that forgets to return.
    [{ needsApproval: () => undefined as unknown as boolean }, true],
  ])("is said by the tool: %j", async (options, isAsked) => {
    const { result, runs } = await waiting(options);
    expect(result.status).toBe(isAsked ? "parked" : "completed");
    expect(runs).toEqual(isAsked ? [] : [5]);
  });

  test.each([
    [{ refund: false }, "completed"],
    [{ refund: true }, "parked"],
    [() => false, "completed"],
    [() => undefined, "parked"],
    [
      ({ name, input }: { readonly name: string; readonly input: unknown }) => `${name} ${JSON.stringify(input)}`,
      "parked",
    ],
  ] as const)("is said by the engine before the tool: %s", async (approvals, status) => {
    const { tool: refund } = refunds();
    const { conversation, engine } = createScene(script, { tools: [refund], approvals }).process();
    await conversation.append("hello");
    const result = await conversation.run(engine);
    expect(result.status).toBe(status);
    if (typeof approvals === "function" && approvals.length > 0)
      expect(result.waitingFor[0]?.reason).toBe('refund {"amount":5}');
  });

  test("is checked when tool and engine are made", () => {
    const { tool: refund } = refunds();
    const config = { tools: [refund] };
    expect(() => createScene([], { ...config, approvals: { refnud: true } }).process()).toThrow(
      /did you mean 'refund'/,
    );
    expect(() => createScene([], { tools: [], approvals: { refund: true } }).process()).toThrow(
      "approvals names 'refund', which is no tool of the engine: the engine runs no tools",
    );
    // What JavaScript may give.
    const wrong = 5 as unknown as boolean;
    expect(() => createScene([], { ...config, approvals: { refund: wrong } }).process()).toThrow(/give true, a reason/);
    expect(() => refunds({ needsApproval: wrong })).toThrow(/tool 'refund': needsApproval is 5/);
    const typo = { resaon: "x" } as unknown as boolean;
    expect(() => refunds({ needsApproval: typo })).toThrow(/did you mean 'reason'/);
  });
});

describe("several calls of one answer", () => {
  const calls = calling(
    ["refund", '{"amount":1}', "a"],
    ["look-up", "{}", "b"],
    ["refund", '{"amount":2}', "c"],
    ["look-up", "{}", "d"],
  );

  async function several() {
    const { tool: refund, runs } = refunds();
    const lookUp = counted("look-up", false);
    const scene = createScene([calls, "an answer"], { tools: [refund, lookUp.tool] });
    const { conversation, engine } = scene.process();
    await conversation.append("hello");
    return { conversation, engine, runs, lookUp, scene, result: await conversation.run(engine) };
  }

  test("run and end first where they need no approval; one append then has all questions", async () => {
    const { conversation, result, runs, lookUp } = await several();
    expect(runs).toEqual([]);
    expect(lookUp.runs).toHaveLength(2);
    expect(result.waitingFor.map(({ input }) => input)).toEqual([{ amount: 1 }, { amount: 2 }]);
    const types = typesOf(await eventsOf(conversation));
    expect(types.slice(-3)).toEqual(["ApprovalRequested", "ApprovalRequested", "RunParked"]);
    expect(types.filter((type) => type === "ToolFinished")).toHaveLength(2);
  });

  test("begin together once all are decided, in whatever order", async () => {
    const { conversation, engine, result, runs, lookUp } = await several();
    const [first, second] = result.waitingFor.map(({ blockId }) => blockId);
    await conversation.approve(second ?? "", { actor: ann });
    expect(await conversation.run(engine)).toMatchObject({ status: "parked", waitingFor: [{ blockId: first }] });
    expect(runs).toEqual([]);
    await conversation.deny(first ?? "", { actor: bob });
    expect(await conversation.run(engine)).toMatchObject({ status: "completed" });
    expect(runs).toEqual([2]);
    expect(lookUp.runs).toHaveLength(2);
    expect((await textsOf(conversation)).slice(5, 9)).toEqual([
      "denied: a person did not allow this call",
      "look-up done",
      "refunded 2",
      "look-up done",
    ]);
  });

  test("are executed again from the start of the run, answered from its log, and the model is not asked twice", async () => {
    const { conversation, engine, result, scene } = await several();
    for (const { blockId } of result.waitingFor) await conversation.approve(blockId, { actor: ann });
    expect(asked(scene.provider)).toBe(1);
    await conversation.run(engine);
    expect(asked(scene.provider)).toBe(2);
  });
});

test("a layer that runs a call with other arguments than the Turn has them shows these to the person", async () => {
  const { tool: refund, runs } = refunds();
  const doubling = layer("doubling", async (turn, next, ctx) => {
    const answer = await next(turn);
    const call = answer.blocks.findLast(({ kind }) => kind === "tool_call");
    if (call === undefined || !ctx.canRun(call)) return answer;
    return answer.append(await ctx.tool(call.withText('{"amount":10}')));
  });
  const scene = createScene([calling(["refund", '{"amount":5}']), "an answer"], {
    tools: [refund],
    middleware: [doubling],
  });
  const { conversation, engine } = scene.process();
  await conversation.append("hello");
  const { waitingFor } = await conversation.run(engine);
  expect(waitingFor).toMatchObject([{ input: { amount: 10 } }]);
  await conversation.approve(waitingFor[0]?.blockId ?? "", { actor: ann });
  await conversation.run(engine);
  expect(runs).toEqual([10]);
});

test("a decision holds for its arguments: others are asked about anew", async () => {
  const { tool: refund, runs } = refunds();
  let amount = 10;
  const changing = layer("changing", async (turn, next, ctx) => {
    const answer = await next(turn);
    const call = answer.blocks.findLast(({ kind }) => kind === "tool_call");
    if (call === undefined || !ctx.canRun(call)) return answer;
    return answer.append(await ctx.tool(call.withText(`{"amount":${amount}}`)));
  });
  const scene = createScene([calling(["refund", '{"amount":5}']), "an answer"], {
    tools: [refund],
    middleware: [changing],
  });
  const { conversation, engine } = scene.process();
  await conversation.append("hello");
  const first = (await conversation.run(engine)).waitingFor[0];
  await conversation.approve(first?.blockId ?? "", { actor: ann });
  amount = 20;
  const second = (await conversation.run(engine)).waitingFor[0];
  expect(second).toMatchObject({ blockId: first?.blockId, input: { amount: 20 } });
  expect(second?.digest).not.toBe(first?.digest);
  expect(runs).toEqual([]);
  await conversation.approve(second?.blockId ?? "", { actor: ann });
  await conversation.run(engine);
  expect(runs).toEqual([20]);
});

test("parts tell a page that a call waits, and the last one has the result of the run", async () => {
  const { tool: refund } = refunds({ needsApproval: "checked" });
  const { conversation, engine } = createScene(script, { tools: [refund] }).process();
  await conversation.append("hello");
  const parts = [];
  for await (const part of conversation.stream(engine)) parts.push(part);
  expect(parts.slice(-2)).toMatchObject([
    { type: "approval-requested", reason: "checked", call: { name: "refund" } },
    { type: "run-end", result: { status: "parked" } },
  ]);
});

test("a tool without approval is not held back by anything", async () => {
  const plain = tool({ name: "plain", description: "x", inputSchema: z.object({}), execute: () => "done" });
  const { conversation, engine } = createScene([calling(["plain", "{}"]), "an answer"], { tools: [plain] }).process();
  await conversation.append("hello");
  expect(await conversation.run(engine)).toMatchObject({ status: "completed", waitingFor: [] });
});
