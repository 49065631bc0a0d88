import { createAdaptorServer } from "@hono/node-server";
import { WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/server";
import { createMcpServer, type McpDeeds } from "./mcp-server.ts";

export type McpHttpServer = AsyncDisposable & {
  readonly url: URL;
  readonly deeds: McpDeeds;
  /** Forgets all sessions, as a server does that was started again. */
  readonly restart: () => void;
};

/** The small server over HTTP on this machine, with sessions; its tool `die` breaks all connections. */
export async function startMcpHttp(): Promise<McpHttpServer> {
  const deeds: McpDeeds = { calls: [], cancelled: 0 };
  const sessions = new Map<string, WebStandardStreamableHTTPServerTransport>();
  const fetch = async (request: Request): Promise<Response> => {
    const id = request.headers.get("mcp-session-id");
    const known = id === null ? undefined : sessions.get(id);
    if (known !== undefined) return known.handleRequest(request);
    if (id !== null) return new Response("session not found", { status: 404 });
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => crypto.randomUUID(),
      onsessioninitialized: (session) => void sessions.set(session, transport),
    });
    await createMcpServer({ deeds, die: () => breakAll() }).connect(transport);
    return transport.handleRequest(request);
  };
  const server = createAdaptorServer({ fetch });
  const breakAll = (): void => {
    if ("closeAllConnections" in server) server.closeAllConnections();
  };
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" ? address?.port : 0;
  return {
    ...{ url: new URL(`http://127.0.0.1:${port}/mcp`), deeds, restart: () => sessions.clear() },
    async [Symbol.asyncDispose]() {
      breakAll();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
