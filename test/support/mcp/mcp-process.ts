import { StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import { createMcpServer } from "./mcp-server.ts";

/** The small server as a program that speaks over stdin and stdout; its tool `die` ends the program. */
await createMcpServer({ die: () => process.kill(process.pid, "SIGKILL") }).connect(new StdioServerTransport());
