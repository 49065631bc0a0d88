/** The tools of an MCP server as tools of an engine. */
export type { McpCall, McpCallOptions, McpClient, McpProgress, McpTool } from "../integrations/mcp/mcp-client.ts";
export { type McpApproval, type McpToolsOptions, mcpTools } from "../integrations/mcp/mcp-tools.ts";
