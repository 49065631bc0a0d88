import { isJsonList, isJsonObject, type JsonObject, type JsonValue, jsonTextOf, textOrEmpty } from "../../base/json.ts";
import { anything, checkFunction, checkWhole, kindOf, meant, optionsOf } from "../../base/options.ts";
import { sha256Hex } from "../../base/sha256.ts";
import { audio, file, image, text } from "../../domain/make-block.ts";
import type { ApprovalNeed } from "../../engine/ports/approval-need.ts";
import type { StandardSchema } from "../../engine/ports/schema.ts";
import { type Tool, type ToolContext, tool } from "../../engine/ports/tool.ts";
import { Connection, graceMs, isInput } from "./connection.ts";
import { digestOf, isTool, type ListedTool, listTools, namedTools, unusable } from "./listed-tools.ts";
import type { McpClient, McpTool } from "./mcp-client.ts";

/** Options of `mcpTools`. The functions get a tool as its server lists it: its annotations are the server's claims. */
export type McpToolsOptions = {
  /** Put before the name of every tool, such as `github_`. */
  readonly prefix?: string;
  /** Which tools the model gets, by the server's names or a function; all by default. */
  readonly include?: readonly string[] | ((tool: McpTool) => boolean);
  /** Which calls a person has to approve: all, those of some tools, or by a function of tool and input; none by default. */
  readonly needsApproval?: boolean | readonly string[] | McpApproval;
  /** Which tools may be called again although a call may have run: all, some, or by a function; none by default. */
  readonly idempotent?: boolean | readonly string[] | ((tool: McpTool) => boolean);
  /** The time limit of a call in milliseconds; one minute by default. */
  readonly timeoutMs?: number;
  /**
   * Connects the client again after the connection or its session was lost: `() => client.connect(new StdioClientTransport(…))`. turnlog
   * closes the client before.
   */
  readonly reconnect?: () => Promise<unknown>;
};

export type McpApproval = (tool: McpTool, input: JsonObject, ctx: ToolContext) => ApprovalNeed | Promise<ApprovalNeed>;

const mcpOptions = optionsOf<McpToolsOptions>({
  prefix(what, given) {
    if (typeof given === "string") return given;
    throw new TypeError(`${what} is ${kindOf(given)}: give a text, such as "github_"`);
  },
  ...{ include: namesOrFunction, needsApproval: flagOrNames, idempotent: flagOrNames },
  ...{ timeoutMs: checkWhole, reconnect: checkFunction },
});

/**
 * The tools of an MCP server, as tools of an engine. The list is read once: a server that changes it needs an engine of its new list.
 *
 *     const client = new Client({ name: "my-agent", version: "1.0.0" });
 *     await client.connect(new StdioClientTransport({ command: "my-server" }));
 *     const engine = createEngine({ provider, tools: await mcpTools(client, { prefix: "my_" }) });
 *
 * @throws {TypeError | RangeError} if the client is not a client, or an option is unknown or invalid, or names a tool that the server lacks.
 * @throws {TurnlogError} `mcp-unusable` if the server's list cannot be read or used.
 */
export async function mcpTools(client: McpClient, options: McpToolsOptions = {}): Promise<readonly Tool<JsonObject>[]> {
  checkClient(client);
  mcpOptions.check("mcpTools", options);
  const { prefix = "", include = () => true, needsApproval = false, idempotent = false } = options;
  const { timeoutMs = 60_000, reconnect } = options;
  const all = await listTools(client);
  const listed = all.filter(isTool);
  if (listed.length < all.length) throw unusable("the MCP server lists a tool without a name");
  for (const [name, given] of Object.entries({ include, needsApproval, idempotent })) checkKnown(name, given, listed);
  const tools = namedTools(listed.filter(chosenBy(include)), prefix);
  const identity = sha256Hex(tools.map((each) => digestOf(each.tool)).join("\n"));
  const connection = new Connection(client, { timeoutMs, reconnect });
  const mayRepeat = chosenBy(idempotent);
  return tools.map((each) => {
    const isIdempotent = mayRepeat(each.tool);
    const made = tool<JsonObject, Promise<unknown>>({
      ...{ name: each.name, description: descriptionOf(each), inputSchema: anyObject, jsonSchema: each.parameters },
      ...{ idempotent: isIdempotent, needsApproval: approvalOf(needsApproval, each.tool) },
      // The connection ends the call before, and knows more of what became of it.
      timeoutMs: timeoutMs + 2 * graceMs,
      execute: async (input, ctx) => resultOf(await connection.call({ tool: each.tool, input, isIdempotent, ctx })),
    });
    return { ...made, identity };
  });
}

function checkClient(client: unknown): void {
  const lacking = ["listTools", "callTool"].filter(
    (name) => typeof client !== "object" || client === null || typeof Reflect.get(client, name) !== "function",
  );
  if (lacking.length > 0)
    throw new TypeError(
      `mcpTools takes an MCP client, not ${kindOf(client)} without ${lacking.join(" and ")}: connect a Client of @modelcontextprotocol/client`,
    );
}

const descriptionOf = ({ tool: { description, title, name } }: ListedTool): string => description ?? title ?? name;

/** The server validates the arguments. */
const anyObject: StandardSchema<unknown, JsonObject> = {
  "~standard": {
    ...{ version: 1, vendor: "turnlog" },
    validate: (value) =>
      isInput(value) ? { value } : { issues: [{ message: `the arguments are ${kindOf(value)}, not an object` }] },
  },
};

/** Whether a tool is meant by a flag, a list of names or a function. */
function chosenBy(given: boolean | readonly string[] | ((tool: McpTool) => boolean)): (tool: McpTool) => boolean {
  if (typeof given === "function") return given;
  return ({ name }) => (typeof given === "boolean" ? given : given.includes(name));
}

const approvalOf = (given: NonNullable<McpToolsOptions["needsApproval"]>, listed: McpTool) =>
  typeof given === "function"
    ? (input: JsonObject, ctx: ToolContext) => given(listed, input, ctx)
    : chosenBy(given)(listed);

function namesOrFunction(what: string, given: unknown): never {
  if (typeof given !== "function" && !isNames(given))
    throw new TypeError(`${what} is ${kindOf(given)}: give a list of names of tools, or a function of the tool`);
  return anything(what, given);
}

function flagOrNames(what: string, given: unknown): never {
  if (typeof given !== "boolean" && typeof given !== "function" && !isNames(given))
    throw new TypeError(`${what} is ${kindOf(given)}: give true, a list of names of tools, or a function of the tool`);
  return anything(what, given);
}

const isNames = (given: unknown): given is readonly string[] =>
  Array.isArray(given) && given.every((name) => typeof name === "string");

/** A misspelt name would leave a tool without approval. */
function checkKnown(option: string, given: unknown, listed: readonly McpTool[]): void {
  if (!isNames(given)) return;
  const known = listed.map(({ name }) => name);
  const unknown = given.find((name) => !known.includes(name));
  if (unknown !== undefined)
    throw new TypeError(
      `mcpTools: ${option} names '${unknown}', which the server does not list: ${meant(unknown, known)}`,
    );
}

/**
 * The result of a call as a tool returns it: a text, parts, or the structured content if the result has nothing else.
 *
 * @throws {Error} with the server's words if the call failed, or was refused for its arguments.
 */
function resultOf(result: unknown): JsonValue {
  if (!isJsonObject(result)) throw new Error("the tool ran, but the MCP server gave no result");
  const { content, structuredContent, isError } = result;
  const parts = isJsonList(content) ? content.map(partOf) : [];
  if (isError === true) throw new Error(wordsOf(parts, structuredContent) || "the tool failed without a reason");
  const [first] = parts;
  if (first === undefined) return structuredContent ?? "";
  return parts.length === 1 && first["type"] === "text" ? textOrEmpty(first["text"]) : parts;
}

/** What the server says of a failure; parts that are no texts say nothing. */
const wordsOf = (parts: readonly JsonObject[], structured: JsonValue | undefined): string =>
  parts
    .map((part) => textOrEmpty(part["text"]))
    .join("\n")
    .trim() || (structured === undefined ? "" : jsonTextOf(structured));

/** A part of a result. One of an unknown type, or that lacks what its type needs, is kept as JSON. */
function partOf(part: JsonValue): JsonObject {
  if (!isJsonObject(part)) return text(jsonTextOf(part));
  const { type, data, mimeType, resource, uri, name } = part;
  if (type === "text" && typeof part["text"] === "string") return text(part["text"]);
  if (type === "image" || type === "audio")
    if (typeof data === "string" && typeof mimeType === "string") return mediaPart(mimeType, data, `a.${type}`);
  if (type === "resource" && isJsonObject(resource)) return resourcePart(resource);
  if (type === "resource_link" && typeof uri === "string")
    return text(typeof name === "string" && name !== "" ? `${name}: ${uri}` : uri);
  return text(jsonTextOf(part));
}

function resourcePart(resource: JsonObject): JsonObject {
  const { uri, mimeType, blob } = resource;
  if (typeof resource["text"] === "string") return text(resource["text"]);
  if (typeof blob !== "string") return text(jsonTextOf(resource));
  const type = typeof mimeType === "string" ? mimeType : "application/octet-stream";
  return mediaPart(type, blob, textOrEmpty(uri).split("/").at(-1) || "resource");
}

function mediaPart(mimeType: string, data: string, name: string): JsonObject {
  const [type = "", format = ""] = mimeType.split(";")[0]?.split("/") ?? [];
  if (type === "image") return image(`data:${mimeType};base64,${data}`);
  if (type === "audio") return audio(data, audioFormats.get(format) ?? format);
  return file({ name, data: `data:${mimeType};base64,${data}` });
}

/** The names that models have for formats of audio. */
const audioFormats: ReadonlyMap<string, string> = new Map([
  ...[["mpeg", "mp3"] as const, ["x-wav", "wav"] as const, ["wave", "wav"] as const, ["vnd.wave", "wav"] as const],
]);
