import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { expect, test } from "vitest";
import { type McpToolsOptions, mcpTools } from "../../../src/integrations/mcp/mcp-tools.ts";
import { scripted } from "../../../src/providers/scripted/scripted.ts";
import { startMcpHttp } from "../../support/mcp/mcp-http.ts";
import { callContext } from "../../support/mcp/mcp-pair.ts";
import { supportFile } from "../../support/process.ts";
import { createWorkshop, dataOf, eventsOf } from "../../support/workshop.ts";

/** Runs one call of a tool, and returns how the run ended and what the model read of the call. */
async function called(client: Client, name: string, options: McpToolsOptions = {}) {
  const { conversation, engine } = createWorkshop();
  const provider = scripted([{ calls: [{ name, arguments: { of: "it" } }] }, "Done."]);
  await conversation.append("Call it.");
  const made = engine({ provider, tools: await mcpTools(client, options) });
  const { status, waitingFor } = await conversation.run(made);
  const [finished] = dataOf(await eventsOf(conversation), "ToolFinished");
  const result = (await conversation.turn()).blocks.find(({ kind }) => kind === "tool_result")?.text ?? null;
  return { status, result, outcome: finished?.outcome ?? null, waits: waitingFor.map(({ kind }) => kind) };
}

test("over stdio: calls a server of its own process, is in doubt when that dies, and connects to another one", async () => {
  const start = () =>
    new StdioClientTransport({
      command: process.execPath,
      args: [supportFile("mcp/mcp-process.ts")],
      stderr: "ignore",
    });
  const client = new Client({ name: "test", version: "1.0.0" });
  await client.connect(start());
  const reconnect = () => client.connect(start());
  try {
    expect(await called(client, "echo")).toMatchObject({ status: "completed", result: '{"of":"it"}', outcome: "ok" });
    expect(await called(client, "die")).toEqual({ status: "parked", result: null, outcome: null, waits: ["doubt"] });
    await expect(mcpTools(client)).rejects.toMatchObject({ code: "mcp-unusable" });
    await reconnect();
    const { conversation, engine } = createWorkshop();
    const made = engine({
      provider: scripted([{ calls: [{ name: "echo", arguments: {} }] }, "Done."]),
      tools: await mcpTools(client, { reconnect }),
    });
    await client.close();
    await conversation.append("Call it.");
    expect(await conversation.run(made)).toMatchObject({ status: "completed", text: "Done." });
    expect((await conversation.turn()).blocks.find(({ kind }) => kind === "tool_result")?.text).toBe("{}");
  } finally {
    await client.close();
  }
});

test("over HTTP: begins another session when a restarted server has lost its own, and calls once", async () => {
  await using server = await startMcpHttp();
  const client = new Client({ name: "test", version: "1.0.0" });
  const connect = () => client.connect(new StreamableHTTPClientTransport(server.url));
  await connect();
  try {
    expect(await called(client, "echo")).toMatchObject({ status: "completed", result: '{"of":"it"}' });
    const { conversation, engine } = createWorkshop();
    const tools = await mcpTools(client, { reconnect: connect });
    server.restart();
    await conversation.append("Call it.");
    const provider = scripted([{ calls: [{ name: "charge", arguments: {} }] }, "Done."]);
    expect(await conversation.run(engine({ provider, tools }))).toMatchObject({ status: "completed" });
    expect((await conversation.turn()).blocks.find(({ kind }) => kind === "tool_result")?.text).toBe("charged 1");
    // Without a way to connect again, the model learns that nothing was called.
    const left = await mcpTools(client);
    server.restart();
    await expect(left[0]?.run("{}", callContext())).rejects.toThrow("the tool was not called");
  } finally {
    await client.close();
  }
});

test("over HTTP: a connection that breaks in the middle of a call is doubt", async () => {
  await using server = await startMcpHttp();
  const client = new Client({ name: "test", version: "1.0.0" });
  await client.connect(new StreamableHTTPClientTransport(server.url));
  try {
    expect(await called(client, "die", { timeoutMs: 300 })).toMatchObject({ status: "parked", waits: ["doubt"] });
    expect(server.deeds.calls).toHaveLength(1);
  } finally {
    await client.close();
  }
});
