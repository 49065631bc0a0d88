import { Client, InMemoryTransport } from "@modelcontextprotocol/client";
import type { McpServer } from "@modelcontextprotocol/server";
import { onTestFinished } from "vitest";
import type { Tool, ToolContext } from "../../../src/engine/ports/tool.ts";
import type { McpClient } from "../../../src/integrations/mcp/mcp-client.ts";
import { type McpToolsOptions, mcpTools } from "../../../src/integrations/mcp/mcp-tools.ts";
import { createMcpServer, type McpDeeds, type McpServerOptions } from "./mcp-server.ts";

export type McpPair = {
  readonly client: Client & McpClient;
  readonly deeds: McpDeeds;
  /** Ends the connection from the server's side, as its death does. */
  readonly kill: () => Promise<void>;
  /** Connects the client to a new server, which may list other tools. */
  readonly connect: (options?: McpServerOptions) => Promise<void>;
};

/** The official client, connected in memory to a server of its own; call inside a test. */
export async function mcpPair(options: McpServerOptions = {}): Promise<McpPair> {
  const deeds: McpDeeds = { calls: [], cancelled: 0 };
  const client = new Client({ name: "test", version: "1.0.0" });
  let server: McpServer | null = null;
  const kill = async (): Promise<void> => {
    await server?.close();
  };
  const connect = async (now: McpServerOptions = options): Promise<void> => {
    const [ours, theirs] = InMemoryTransport.createLinkedPair();
    server = createMcpServer({ deeds, die: () => void kill(), ...now });
    await Promise.all([server.connect(theirs), client.connect(ours)]);
  };
  await connect();
  onTestFinished(async () => {
    await client.close();
    await kill();
  });
  return { client, deeds, kill, connect };
}

/** The context of a call, as far as the tools of a server use it. */
export const callContext = (signal = new AbortController().signal): ToolContext =>
  // Identifiers of conversations are not looked at here.
  ({
    signal,
    idempotencyKey: "key 1",
    callId: "call 1",
    context: undefined,
    emit: () => undefined,
  }) as unknown as ToolContext;

/** The tools of the small server, and a way to call each of them. */
export async function mcpScene(options: McpToolsOptions = {}, server: McpServerOptions = {}) {
  const pair = await mcpPair(server);
  const tools = await mcpTools(pair.client, options);
  const named = (name: string): Tool => {
    const found = tools.find((tool) => tool.name === name);
    if (found === undefined) throw new Error(`no tool ${name}`);
    return found;
  };
  const call = (name: string, given: unknown = {}, ctx = callContext()): Promise<unknown> =>
    named(name).run(JSON.stringify(given), ctx);
  return { ...pair, tools, named, call };
}
