import { rejectionOf } from "../../base/abort.ts";
import { messageOf } from "../../base/error-message.ts";
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { TurnlogError } from "../../base/turnlog-error.ts";
import type { ToolContext } from "../../engine/ports/tool.ts";
import { type CallFailure, callFailureOf } from "./call-failure.ts";
import { digestOf, isTool, listTools } from "./listed-tools.ts";
import type { McpClient, McpTool } from "./mcp-client.ts";

type Calling = {
  readonly tool: McpTool;
  readonly input: JsonObject;
  readonly isIdempotent: boolean;
  readonly ctx: Pick<ToolContext, "signal" | "idempotencyKey" | "emit">;
};

export type ConnectionOptions = {
  readonly timeoutMs: number;
  readonly reconnect: (() => Promise<unknown>) | undefined;
};

/** How much longer than its limit a client may take to end a call. */
export const graceMs = 2_000;

/** The connection to a server: it is made anew at most once for a call, and never twice at a time. */
export class Connection {
  readonly #client: McpClient;
  readonly #options: ConnectionOptions;
  #reconnecting: Promise<readonly unknown[]> | null = null;
  /** The server's list over the newest connection; null as long as the first one lasts. */
  #relisted: readonly unknown[] | null = null;

  constructor(client: McpClient, options: ConnectionOptions) {
    this.#client = client;
    this.#options = options;
  }

  /**
   * Calls a tool once, and once more over a new connection if the server did not get the call, or the caller allows it to be repeated.
   *
   * @throws {TurnlogError} `tool-in-doubt` if the tool may have run.
   * @throws {Error} for every other failure, in words for the model.
   */
  async call(calling: Calling): Promise<unknown> {
    const { timeoutMs, reconnect } = this.#options;
    const late = new AbortController();
    const timer = setTimeout(() => {
      late.abort(Object.assign(new Error(`no answer within ${timeoutMs} ms`), { code: "REQUEST_TIMEOUT" }));
    }, timeoutMs + graceMs);
    try {
      const before = this.#relisted;
      const first = await this.#attempt(calling, late.signal);
      if (!("failure" in first)) return first.result;
      const { failure } = first;
      const mayBeRepeated = failure.outcome === "unsent" || (calling.isIdempotent && failure.outcome === "unknown");
      if (!mayBeRepeated || !failure.isDisconnected || reconnect === undefined) throw errorOf(failure, calling.tool);
      // Another call may have connected anew meanwhile, and be under way: its connection must not be closed.
      const tools = this.#relisted === before ? await this.#reconnect(reconnect, calling, late.signal) : this.#relisted;
      checkUnchanged(calling.tool, tools ?? []);
      const second = await this.#attempt(calling, late.signal);
      if ("failure" in second) throw errorOf(second.failure, calling.tool);
      return second.result;
    } finally {
      clearTimeout(timer);
    }
  }

  async #attempt(
    { tool: { name }, input, ctx: { signal, idempotencyKey, emit } }: Calling,
    late: AbortSignal,
  ): Promise<{ readonly result: unknown } | { readonly failure: CallFailure }> {
    const { timeoutMs } = this.#options;
    const ends = AbortSignal.any([signal, late]);
    const onprogress = (given: unknown): void => {
      if (!ends.aborted) emit("mcp-progress", progressOf(given));
    };
    try {
      const call = { name, arguments: { ...input }, _meta: { "turnlog/idempotency-key": idempotencyKey } };
      // A client of the caller's may throw before it returns a promise.
      const working = (async () => this.#client.callTool(call, { signal: ends, timeout: timeoutMs, onprogress }))();
      return { result: await Promise.race([working, rejectionOf(ends)]) };
    } catch (error) {
      // The client reports an abort as a timeout.
      signal.throwIfAborted();
      return { failure: callFailureOf(error) };
    }
  }

  /** Connects anew, once for all calls that find the connection lost, and returns the server's list. */
  async #reconnect(
    reconnect: () => Promise<unknown>,
    { ctx: { signal } }: Calling,
    late: AbortSignal,
  ): Promise<readonly unknown[]> {
    this.#reconnecting ??= this.#listAnew(reconnect).finally(() => {
      this.#reconnecting = null;
    });
    try {
      return await Promise.race([this.#reconnecting, rejectionOf(AbortSignal.any([signal, late]))]);
    } catch (cause) {
      signal.throwIfAborted();
      throw new Error(`the MCP server is not connected, and connecting again failed: ${messageOf(cause)}`, { cause });
    }
  }

  async #listAnew(reconnect: () => Promise<unknown>): Promise<readonly unknown[]> {
    const { timeoutMs } = this.#options;
    const listing = (async () => {
      // What is closed already needs no second end.
      await this.#client.close?.().catch(() => undefined);
      await reconnect();
      return listTools(this.#client);
    })();
    // Without a limit, later calls would wait for a connection that never comes.
    this.#relisted = await Promise.race([listing, rejectionOf(AbortSignal.timeout(timeoutMs))]);
    return this.#relisted;
  }
}

/** @throws {Error} if the server no longer has the tool as it listed it first. */
function checkUnchanged(tool: McpTool, tools: readonly unknown[]): void {
  const now = tools.filter(isTool).find(({ name }) => name === tool.name);
  if (now === undefined || digestOf(now) !== digestOf(tool))
    throw new Error(`the MCP server has changed the tool ${tool.name} since it was listed, so it was not called`);
}

function errorOf({ outcome, message }: CallFailure, { name }: McpTool): Error {
  switch (outcome) {
    case "unknown":
      return new TurnlogError("tool-in-doubt", `the MCP tool ${name} may have run: ${message}`);
    case "ran":
      return new Error(`the tool ran, but its result cannot be used: ${message}`);
    case "unsent":
      return new Error(`the tool was not called: ${message}`);
    case "answered":
      return new Error(message);
  }
}

/** The members of a report of progress that are what they should be. */
function progressOf(given: unknown): JsonObject {
  const { progress, total, message } = isJsonObject(given) ? given : {};
  return {
    ...(Number.isFinite(progress) ? { progress: Number(progress) } : {}),
    ...(Number.isFinite(total) ? { total: Number(total) } : {}),
    ...(typeof message === "string" ? { message } : {}),
  };
}

/** The arguments of a call as an object; the server validates them. */
export const isInput = (value: unknown): value is JsonObject => isJsonObject(value);
