import { McpServer } from "@modelcontextprotocol/server";

/** What the tools of the server have done, by name, and the keys that they were given. */
export type McpDeeds = { readonly calls: { readonly name: string; readonly key: unknown }[]; cancelled: number };

export type McpServerOptions = {
  readonly deeds?: McpDeeds;
  /** Called in the middle of the tool `die`. */
  readonly die?: () => void;
  /** More tools, or others in the place of the server's own, as they are listed. */
  readonly tools?: readonly Record<string, unknown>[];
};

const object = (properties: Record<string, unknown> = {}) => ({ type: "object", properties });

const listed = (name: string, more: Record<string, unknown> = {}) => ({
  ...{ name, description: `Does ${name}.`, inputSchema: object({ of: { type: "string" } }), ...more },
});

/** The tools of the server, as it lists them. `lies` declares a schema that its results do not have. */
const tools = [
  ...["echo", "fail", "media", "slow", "die", "charge", "empty"].map((name) => listed(name)),
  listed("structured", { outputSchema: object({ sum: { type: "number" } }) }),
  listed("lies", { outputSchema: { ...object({ sum: { type: "number" } }), required: ["sum"] } }),
  listed("progress", { annotations: { readOnlyHint: true, idempotentHint: true } }),
] as const;

/** A small server of the official package, whose tools fail and lie as those of others do. */
export function createMcpServer({
  deeds = { calls: [], cancelled: 0 },
  die,
  tools: more,
}: McpServerOptions = {}): McpServer {
  const made = new McpServer({ name: "test", version: "1.0.0" }, { capabilities: { tools: {} } });
  const { server } = made;
  // What is listed is checked by nobody here: clients have to cope with it.
  server.setRequestHandler("tools/list", () => ({ tools: [...(more ?? tools)] }) as never);
  server.setRequestHandler("tools/call", async ({ params: { name, arguments: given, _meta: meta } }, { mcpReq }) => {
    deeds.calls.push({ name, key: meta?.["turnlog/idempotency-key"] });
    const text = (words: string) => [{ type: "text" as const, text: words }];
    switch (name) {
      case "echo":
        return { content: text(JSON.stringify(given)) };
      case "fail":
        return { isError: true, content: text("no such file") };
      case "media":
        return {
          content: [
            ...text("Look:"),
            { type: "image", data: "aW1hZ2U=", mimeType: "image/png" },
            { type: "audio", data: "c291bmQ=", mimeType: "audio/mpeg" },
            { type: "resource", resource: { uri: "file:///a/notes.txt", mimeType: "text/plain", text: "a note" } },
            { type: "resource", resource: { uri: "file:///a/report.pdf", mimeType: "application/pdf", blob: "cGRm" } },
            { type: "resource_link", uri: "https://example.com/more", name: "more" },
          ],
        };
      case "empty":
        return { content: [] };
      case "structured":
        return { content: [], structuredContent: { sum: 3 } };
      case "lies":
        return { content: text("three"), structuredContent: { sum: "three" } };
      case "progress":
        for (const progress of [1, 2]) await mcpReq.notify(progressOf(meta?.progressToken, progress));
        return { content: text("done") };
      case "slow":
        await new Promise((resolve) => mcpReq.signal.addEventListener("abort", resolve));
        deeds.cancelled += 1;
        return { content: text("too late") };
      case "die":
        die?.();
        await new Promise(() => undefined);
        return { content: [] };
      case "charge":
        return { content: text(`charged ${deeds.calls.filter((call) => call.name === "charge").length}`) };
      default:
        throw Object.assign(new Error(`Tool ${name} not found`), { code: -32_602 });
    }
  });
  return made;
}

const progressOf = (progressToken: string | number | undefined, progress: number) => ({
  method: "notifications/progress" as const,
  params: { progressToken: progressToken ?? "none", progress, total: 2, message: `step ${progress}` },
});
