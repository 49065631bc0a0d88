/**
 * The tools of an MCP server, which is a program of its own. In the middle of a payment the server dies: whether it paid is unknown, so the
 * call waits for a person instead of being made again.
 *
 * Run it from a checkout after `npm run build`, without a key: `node examples/mcp.ts` starts itself as the server.
 */
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { McpServer } from "@modelcontextprotocol/server";
import { StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import { createEngine, openStore } from "turnlog";
import { mcpTools } from "turnlog/mcp";
import { scripted } from "turnlog/testing";
import * as z from "zod";

if (process.argv[2] === "server") {
  const server = new McpServer({ name: "bank", version: "1.0.0" });
  const inputSchema = z.object({ euros: z.number() });
  server.registerTool("pay", { description: "Pays", inputSchema }, ({ euros }) => {
    // Without an answer: the money may be gone.
    if (euros > 100) process.exit(1);
    return { content: [{ type: "text", text: `paid ${euros} euros` }] };
  });
  await server.connect(new StdioServerTransport());
} else {
  const client = new Client({ name: "example", version: "1.0.0" });
  const program = { command: process.execPath, args: [import.meta.filename, "server"] };
  const connect = () => client.connect(new StdioClientTransport(program));
  await connect();
  const tools = await mcpTools(client, { prefix: "bank_", reconnect: connect });
  const call = (euros: number) => ({ calls: [{ name: "bank_pay", arguments: { euros } }] });
  const engine = createEngine({ provider: scripted([call(5), "Paid 5.", call(500), "Paid 500."]), tools });
  await using store = await openStore("memory:");
  const conversation = store.conversation();
  for (const text of ["Pay 5 euros.", "Pay 500 euros."]) {
    await conversation.append(text);
    const { status, text: said, waitingFor } = await conversation.run(engine);
    console.log(status, said, ...waitingFor.map(({ kind, name }) => `${kind}: ${name}`));
  }
  // A person has looked into the bank's books.
  await conversation.settle("bank_pay", { how: "result", output: "paid 500 euros" });
  console.log((await conversation.run(engine)).text);
  await client.close();
}
