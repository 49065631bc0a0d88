import { describe, expect, test } from "vitest";
import { createEngine } from "../../../src/engine/options/create-engine.ts";
import { mcpTools } from "../../../src/integrations/mcp/mcp-tools.ts";
import { scripted } from "../../../src/providers/scripted/scripted.ts";
import { reexecute } from "../../../src/replay/re-execute.ts";
import { callContext, mcpPair, mcpScene } from "../../support/mcp/mcp-pair.ts";
import { replayed } from "../../support/replayed.ts";
import { createWorkshop, rejectionOf } from "../../support/workshop.ts";

describe("a failure", () => {
  test.each([
    ["the server dies in the middle of the call", "die", {}],
    ["the server does not answer in time", "slow", { timeoutMs: 20 }],
  ] as const)("is doubt where %s", async (_, name, options) => {
    const { call, deeds } = await mcpScene(options);
    expect(await rejectionOf(call(name))).toMatchObject({
      code: "tool-in-doubt",
      message: expect.stringContaining(`the MCP tool ${name} may have run`) as string,
    });
    expect(deeds.calls).toHaveLength(1);
  });

  test("is doubt also where the client could connect again: the call is not repeated unasked", async () => {
    const pair = await mcpScene({ reconnect: () => pair.connect() });
    expect(await rejectionOf(pair.call("die"))).toMatchObject({ code: "tool-in-doubt" });
    expect(pair.deeds.calls).toHaveLength(1);
  });

  test("before the call was sent is none: the client connects once more, and calls", async () => {
    let times = 0;
    const { call, kill, connect, deeds } = await mcpScene({
      reconnect: async () => {
        times += 1;
        await connect();
      },
    });
    await kill();
    expect(await Promise.all([call("echo", { of: "a" }), call("echo", { of: "b" })])).toEqual([
      ...['{"of":"a"}', '{"of":"b"}'],
    ]);
    expect([times, deeds.calls.length]).toEqual([1, 2]);
  });

  test("that is noticed late does not close the connection which another call has made meanwhile", async () => {
    const lost = (): never => {
      throw Object.assign(new Error("session not found"), { status: 404 });
    };
    const [isLate, ends] = [Promise.withResolvers<undefined>(), Promise.withResolvers<undefined>()];
    let connections = 0;
    let closed = 0;
    const client = {
      listTools: async () => ({ tools: [{ name: "a", inputSchema: { type: "object" } }] }),
      async callTool({ arguments: { of } }: { readonly arguments: Record<string, unknown> }) {
        if (connections === 0) {
          if (of === "late") await isLate.promise;
          lost();
        }
        if (of === "early") await ends.promise;
        return { content: [{ type: "text", text: `${String(of)} over ${connections}` }] };
      },
      async close() {
        closed += 1;
      },
    };
    const reconnect = async (): Promise<void> => {
      connections += 1;
    };
    const [tool] = await mcpTools(client, { reconnect });
    const call = (of: string) => tool?.run(JSON.stringify({ of }), callContext());
    const [late, early] = [call("late"), call("early")];
    await expect.poll(() => connections).toBe(1);
    isLate.resolve(undefined);
    expect(await late).toBe("late over 1");
    ends.resolve(undefined);
    expect([await early, closed]).toEqual(["early over 1", 1]);
  });

  test("to connect again, or without a way to, is an error that says that nothing was called", async () => {
    const without = await mcpScene();
    await without.kill();
    await expect(without.call("echo")).rejects.toThrow("the tool was not called: Not connected");
    const failing = await mcpScene({ reconnect: () => Promise.reject(new Error("no such program")) });
    await failing.kill();
    await expect(failing.call("echo")).rejects.toThrow(/connecting again failed: no such program/);
    expect(failing.deeds.calls).toEqual([]);
  });

  test("in the middle of a call is repeated only for a tool that the caller calls idempotent", async () => {
    let left = 1;
    const options = { die: () => undefined };
    const pair = await mcpScene(
      {
        idempotent: ["die"],
        reconnect: () => pair.connect({ ...options, tools: [{ name: "die", inputSchema: { type: "object" } }] }),
      },
      {
        tools: [{ name: "die", inputSchema: { type: "object" } }],
        die: () => {
          left -= 1;
          if (left >= 0) void pair.kill();
        },
      },
    );
    const abort = new AbortController();
    const calling = pair.call("die", {}, callContext(abort.signal));
    await expect.poll(() => pair.deeds.calls.length).toBe(2);
    abort.abort(new Error("enough"));
    await expect(calling).rejects.toThrow("enough");
  });

  test("is not repeated with a tool that the server has changed meanwhile", async () => {
    const tool = (description: string) => [{ name: "echo", description, inputSchema: { type: "object" } }];
    const { call, kill, deeds } = await (async () => {
      const pair = await mcpScene(
        { reconnect: () => pair.connect({ tools: tool("erases all") }) },
        { tools: tool("reads") },
      );
      return pair;
    })();
    await kill();
    await expect(call("echo")).rejects.toThrow("has changed the tool echo since it was listed, so it was not called");
    expect(deeds.calls).toEqual([]);
  });

  test("that the server reports is told to the model, and is no doubt", async () => {
    const { call } = await mcpScene({}, { tools: [{ name: "gone", inputSchema: { type: "object" } }] });
    const failed = await rejectionOf(call("gone"));
    expect(failed).toBeInstanceOf(Error);
    expect(String(failed)).toContain("Tool gone not found");
    expect(failed).not.toHaveProperty("code");
  });

  test("by an abort cancels the call at the server, and is the caller's reason", async () => {
    const { call, deeds } = await mcpScene();
    const abort = new AbortController();
    const calling = call("slow", {}, callContext(abort.signal));
    await expect.poll(() => deeds.calls.length).toBe(1);
    abort.abort(new Error("the user left"));
    await expect(calling).rejects.toThrow("the user left");
    await expect.poll(() => deeds.cancelled).toBe(1);
  });
});

test("a call in doubt waits for a person, who settles it, and the server is never called twice", async () => {
  const { client, deeds } = await mcpPair();
  const { conversation, store } = createWorkshop();
  const provider = scripted([{ calls: [{ name: "die", arguments: {} }] }, "Done."]);
  const engine = createEngine({ provider, tools: await mcpTools(client) });
  await conversation.append("Do it.");
  expect(await conversation.run(engine)).toMatchObject({
    status: "parked",
    waitingFor: [{ kind: "doubt", name: "die" }],
  });
  await conversation.settle("die", { how: "result", output: "it was done" });
  expect(await conversation.run(engine)).toMatchObject({ status: "completed", text: "Done." });
  expect(deeds.calls).toHaveLength(1);
  expect((await replayed(store, conversation)).difference).toBeNull();
  expect((await reexecute(conversation, engine)).difference).toBeNull();
  expect(deeds.calls).toHaveLength(1);
});

test("a call that needs approval does not reach the server before a person has approved it, and the server gets the edit", async () => {
  const { client, deeds } = await mcpPair();
  const { conversation, engine } = createWorkshop();
  const provider = scripted([{ calls: [{ name: "echo", arguments: { of: "all" } }] }, "Done."]);
  const made = engine({ provider, tools: await mcpTools(client, { needsApproval: ["echo"] }) });
  await conversation.append("Do it.");
  const { waitingFor } = await conversation.run(made);
  expect([waitingFor, deeds.calls]).toMatchObject([[{ kind: "approval", name: "echo", input: { of: "all" } }], []]);
  const actor = { kind: "user", name: "ann" } as const;
  await conversation.approve(waitingFor[0]?.blockId ?? "", { input: { of: "some" }, actor });
  expect(await conversation.run(made)).toMatchObject({ status: "completed", text: "Done." });
  expect(deeds.calls).toHaveLength(1);
  const result = (await conversation.turn()).blocks.find(({ kind }) => kind === "tool_result")?.text;
  expect(result).toContain('{"of":"some"}');
});
