import { canonicalJson } from "../../base/canonical-json.ts";
import { messageOf } from "../../base/error-message.ts";
import { isJsonObject, isNestedDeeper, type JsonObject, listOf, maxNesting } from "../../base/json.ts";
import { kindOf } from "../../base/options.ts";
import { sha256Hex } from "../../base/sha256.ts";
import { TurnlogError } from "../../base/turnlog-error.ts";
import type { McpClient, McpTool } from "./mcp-client.ts";

/** A tool of a server, under the name that the model calls. */
export type ListedTool = { readonly name: string; readonly tool: McpTool; readonly parameters: JsonObject };

/** The limit of pages of a server's list. */
const maxPages = 64;

/**
 * All tools of a server, as it lists them now.
 *
 * @throws {TurnlogError} `mcp-unusable` if the server does not list them, or the list never ends.
 */
export async function listTools(client: McpClient): Promise<readonly unknown[]> {
  const tools: unknown[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < maxPages; page += 1) {
    const listed = await pageOf(client, cursor);
    if (!isJsonObject(listed) || !Array.isArray(listed["tools"]))
      throw unusable(`the MCP server listed no tools: its answer is ${kindOf(listed)} without a list of tools`);
    tools.push(...listOf(listed["tools"]));
    const { nextCursor } = listed;
    if (typeof nextCursor !== "string" || nextCursor === "") return tools;
    cursor = nextCursor;
  }
  throw unusable(`the MCP server lists more than ${maxPages} pages of tools`);
}

async function pageOf(client: McpClient, cursor: string | undefined): Promise<unknown> {
  try {
    return await client.listTools(cursor === undefined ? undefined : { cursor }, { cacheMode: "refresh" });
  } catch (cause) {
    throw new TurnlogError("mcp-unusable", `the MCP server did not list its tools: ${messageOf(cause)}`, { cause });
  }
}

/**
 * The tools under names that models accept.
 *
 * @throws {TurnlogError} `mcp-unusable` if a tool has no name or no schema of an object, or two tools get the same name.
 */
export function namedTools(tools: readonly McpTool[], prefix: string): readonly ListedTool[] {
  const nameByCalled = new Map<string, string>();
  return tools.map((tool) => {
    const name = cleanName(`${prefix}${tool.name}`);
    const other = nameByCalled.get(name);
    if (other !== undefined)
      throw unusable(
        `the tools '${other}' and '${tool.name}' of the MCP server would both be called ${name}: leave one out with include`,
      );
    nameByCalled.set(name, tool.name);
    return { name, tool, parameters: parametersOf(tool) };
  });
}

/** Models accept letters, digits, _ and -, at most 64 of them. */
const cleanName = (name: string): string => name.replace(/[^a-zA-Z0-9_-]/g, "_").slice(0, 64);

function parametersOf({ name, inputSchema }: McpTool): JsonObject {
  const given: unknown = inputSchema;
  const instead = "leave it out with include";
  if (!isJsonObject(given) || given["type"] !== "object")
    throw unusable(`the tool '${name}' of the MCP server has no schema of an object for its input: ${instead}`);
  if (isNestedDeeper(given, maxNesting))
    throw unusable(`the schema of the tool '${name}' of the MCP server has more than ${maxNesting} levels: ${instead}`);
  return given;
}

/** Whether an item of the list is a tool with a name. */
export function isTool(given: unknown): given is McpTool {
  return isJsonObject(given) && typeof given["name"] === "string" && given["name"] !== "";
}

/** What the model reads of a tool, as one digest. */
export const digestOf = ({ name, description = "", inputSchema }: McpTool): string =>
  // What the client parsed from JSON is JSON.
  sha256Hex(canonicalJson([name, description, inputSchema as JsonObject]));

export const unusable = (message: string): TurnlogError => new TurnlogError("mcp-unusable", message);
