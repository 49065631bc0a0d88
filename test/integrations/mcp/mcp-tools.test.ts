import { describe, expect, test } from "vitest";
import { type McpToolsOptions, mcpTools } from "../../../src/integrations/mcp/mcp-tools.ts";
import { scripted } from "../../../src/providers/scripted/scripted.ts";
import { callContext, mcpPair, mcpScene } from "../../support/mcp/mcp-pair.ts";
import type { McpServerOptions } from "../../support/mcp/mcp-server.ts";
import { createWorkshop, dataOf, eventsOf } from "../../support/workshop.ts";

describe("the list", () => {
  test("gives every tool with its description and schema, which go to the model as they are", async () => {
    const { tools, named } = await mcpScene();
    expect(tools.map(({ name }) => name)).toEqual([
      ...["echo", "fail", "media", "slow", "die", "charge", "empty", "structured", "lies", "progress"],
    ]);
    expect(named("echo")).toMatchObject({
      ...{ description: "Does echo.", idempotent: false, mayNeedApproval: false, isExternal: false },
      parameters: { type: "object", properties: { of: { type: "string" } } },
    });
  });

  test("is filtered by names or a function, and named with a prefix", async () => {
    const named = await mcpScene({ include: ["echo"], prefix: "test_" });
    expect(named.tools.map(({ name }) => name)).toEqual(["test_echo"]);
    expect(await named.call("test_echo", { of: "it" })).toBe('{"of":"it"}');
    const hinted = await mcpScene({ include: ({ annotations }) => annotations?.readOnlyHint === true });
    expect(hinted.tools.map(({ name }) => name)).toEqual(["progress"]);
  });

  test("has names that models accept; two tools of one name are refused, with what to do", async () => {
    const tool = (name: string) => ({ name, inputSchema: { type: "object" } });
    const clean = await mcpScene({}, { tools: [tool("files/read.all"), tool("x".repeat(70))] });
    expect(clean.tools.map(({ name, description }) => [name, description])).toEqual([
      ["files_read_all", "files/read.all"],
      ["x".repeat(64), "x".repeat(70)],
    ]);
    const collide = mcpScene({}, { tools: [tool("a.b"), tool("a/b")] });
    await expect(collide).rejects.toMatchObject({
      code: "mcp-unusable",
      message: "the tools 'a.b' and 'a/b' of the MCP server would both be called a_b: leave one out with include",
    });
    await mcpScene({ include: ["a.b"] }, { tools: [tool("a.b"), tool("a/b")] });
  });

  test("with a schema that no model accepts is refused, unless the tool is left out", async () => {
    const tools = [
      { name: "bad", inputSchema: { type: "string" } },
      { name: "good", inputSchema: { type: "object" } },
    ];
    const bare = { listTools: async () => ({ tools }), callTool: async () => ({}) };
    await expect(mcpTools(bare)).rejects.toThrow("the tool 'bad' of the MCP server has no schema of an object");
    expect(await mcpTools(bare, { include: ["good"] })).toHaveLength(1);
  });

  test("is read page by page, and a list without an end is refused", async () => {
    const page = (cursor = "0") => ({ tools: [{ name: `t${cursor}`, inputSchema: { type: "object" } }] });
    const paged = {
      listTools: async ({ cursor }: { readonly cursor?: string } = {}) => ({
        ...page(cursor),
        ...(cursor === undefined ? { nextCursor: "1" } : {}),
      }),
      callTool: async () => ({}),
    };
    expect((await mcpTools(paged)).map(({ name }) => name)).toEqual(["t0", "t1"]);
    const endless = { ...paged, listTools: async () => ({ ...page(), nextCursor: "1" }) };
    await expect(mcpTools(endless)).rejects.toThrow("more than 64 pages");
  });

  test("that the server does not give is an error with its cause", async () => {
    const { client, kill } = await mcpPair();
    await kill();
    await expect(mcpTools(client)).rejects.toMatchObject({ code: "mcp-unusable", cause: expect.any(Error) as Error });
  });

  test("is part of the tool loop's configuration in the log: other tools are another configuration", async () => {
    const digestOf = async (server: McpServerOptions, options: McpToolsOptions = {}): Promise<unknown> => {
      const { client } = await mcpPair(server);
      const { conversation, engine } = createWorkshop({ encoding: "json" });
      await conversation.append("Hello.");
      await conversation.run(engine({ provider: scripted(["Hi."]), tools: await mcpTools(client, options) }));
      const [started] = dataOf(await eventsOf(conversation), "RunStarted");
      return started?.stack.find(({ name }) => name === "tool-loop")?.configDigest;
    };
    const tool = (description: string) => [{ name: "a", description, inputSchema: { type: "object" } }];
    const first = await digestOf({ tools: tool("one") });
    expect(await digestOf({ tools: tool("one") })).toBe(first);
    expect(await digestOf({ tools: tool("two") })).not.toBe(first);
  });
});

describe("options", () => {
  test("that are misspelt, or name a tool that the server lacks, are refused", async () => {
    const { client } = await mcpPair();
    // A caller may not use types.
    const given = (options: object) => mcpTools(client, options);
    await expect(given({ prefx: "a" })).rejects.toThrow("mcpTools has no option 'prefx': did you mean 'prefix'?");
    await expect(given({ needsApproval: ["chrge"] })).rejects.toThrow(
      "needsApproval names 'chrge', which the server does not list: did you mean 'charge'?",
    );
    await expect(given({ include: "echo" })).rejects.toThrow("include is a text: give a list of names of tools");
    await expect(given({ timeoutMs: 0 })).rejects.toThrow("timeoutMs is 0");
    await expect(mcpTools({} as never)).rejects.toThrow("takes an MCP client, not an object without listTools and");
  });

  test("say which calls need approval, by tool and input", async () => {
    const { tools, named } = await mcpScene({
      needsApproval: ({ annotations }, input) => annotations?.readOnlyHint !== true && input["of"] === "money",
    });
    expect(tools.every(({ mayNeedApproval }) => mayNeedApproval)).toBe(true);
    expect(await named("charge").approval({ of: "money" }, callContext())).toBe(true);
    expect(await named("charge").approval({ of: "air" }, callContext())).toBe(false);
    expect(await named("progress").approval({ of: "money" }, callContext())).toBe(false);
    const some = await mcpScene({ needsApproval: ["charge"], idempotent: ["echo"] });
    expect([some.named("charge"), some.named("echo")]).toMatchObject([
      { mayNeedApproval: true, idempotent: false },
      { mayNeedApproval: false, idempotent: true },
    ]);
  });

  test("do not believe the server's hints: no tool is idempotent unless the caller says so", async () => {
    const { named } = await mcpScene();
    expect(named("progress").idempotent).toBe(false);
  });
});

describe("a result", () => {
  test("is a text, parts, or the structured content if there is nothing else", async () => {
    const { call } = await mcpScene();
    expect(await call("echo", { of: "it" })).toBe('{"of":"it"}');
    expect(await call("media")).toEqual([
      { type: "text", text: "Look:" },
      { type: "image", url: "data:image/png;base64,aW1hZ2U=", detail: "auto" },
      { type: "audio", audio: { data: "c291bmQ=", format: "mp3" } },
      { type: "text", text: "a note" },
      { type: "file", name: "report.pdf", data: "data:application/pdf;base64,cGRm" },
      { type: "text", text: "more: https://example.com/more" },
    ]);
    expect(await call("structured")).toEqual({ sum: 3 });
    expect(await call("empty")).toBe("");
  });

  test("that the server calls an error is one, in its words", async () => {
    const { call } = await mcpScene();
    await expect(call("fail")).rejects.toThrow("no such file");
  });

  test("that does not match the schema which the server declared is an error that says that the tool ran", async () => {
    const { call, deeds } = await mcpScene();
    await expect(call("lies")).rejects.toThrow(/^the tool ran, but its result cannot be used: .*does not match/);
    expect(deeds.calls).toHaveLength(1);
  });

  test("that lacks the structured content which the server declared says that the tool ran, too", async () => {
    const outputSchema = { type: "object", properties: {} };
    const tools = [{ name: "echo", inputSchema: { type: "object" }, outputSchema }];
    const { call, deeds } = await mcpScene({}, { tools });
    await expect(call("echo")).rejects.toThrow(/^the tool ran, but its result cannot be used: /);
    expect(deeds.calls).toHaveLength(1);
  });

  test("cannot come where the declared schema is none: the client refuses the call before it sends it", async () => {
    const outputSchema = { type: "object", properties: { sum: { type: "nonsense" } } };
    const { call, deeds } = await mcpScene(
      {},
      { tools: [{ name: "echo", inputSchema: { type: "object" }, outputSchema }] },
    );
    await expect(call("echo")).rejects.toThrow(/^the tool was not called: .*invalid outputSchema/);
    expect(deeds.calls).toEqual([]);
  });

  test("carries the key of the call to the server, for deduplication", async () => {
    const { call, deeds } = await mcpScene();
    await call("echo");
    expect(deeds.calls).toEqual([{ name: "echo", key: "key 1" }]);
  });

  test("of parts that no one knows, or that lack their data, is kept as JSON", async () => {
    const odd = [{ type: "image", mimeType: "image/png" }, { type: "hologram", of: 3 }, 7];
    const bare = {
      listTools: async () => ({ tools: [{ name: "odd", inputSchema: { type: "object" } }] }),
      callTool: async () => ({ content: odd }),
    };
    const [tool] = await mcpTools(bare);
    expect(await tool?.run("{}", callContext())).toEqual(
      odd.map((part) => ({ type: "text", text: JSON.stringify(part) })),
    );
  });
});

test("the progress of a call is shown to those who watch the run, and is not recorded", async () => {
  const { client } = await mcpPair();
  const { conversation, engine } = createWorkshop();
  const provider = scripted([{ calls: [{ name: "progress", arguments: {} }] }, "Done."]);
  await conversation.append("Do it.");
  const shown: unknown[] = [];
  for await (const part of conversation.stream(engine({ provider, tools: await mcpTools(client) })))
    if (part.type === "data") shown.push([part.name, part.data, part.call?.name]);
  expect(shown).toEqual([
    ["mcp-progress", { progress: 1, total: 2, message: "step 1" }, "progress"],
    ["mcp-progress", { progress: 2, total: 2, message: "step 2" }, "progress"],
  ]);
  expect(JSON.stringify(await eventsOf(conversation))).not.toContain("mcp-progress");
});
