/** The tools of an MCP server as tools of an engine. */
export type { McpCall, McpCallOptions, McpClient, McpProgress, McpTool } from "../mcp/mcp-client.ts";
export { type McpApproval, type McpToolsOptions, mcpTools } from "../mcp/mcp-tools.ts";
