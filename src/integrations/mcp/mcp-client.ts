/** The parts of an MCP client that turnlog uses, as `Client` of `@modelcontextprotocol/client` has them. */
export type McpClient = {
  /** All tools of the server, or one page of them if the result has a `nextCursor`. */
  listTools(params?: { readonly cursor?: string }, options?: { readonly cacheMode?: "refresh" }): Promise<unknown>;
  callTool(params: McpCall, options: McpCallOptions): Promise<unknown>;
  /** Called before `reconnect`, because a client whose session is lost still has its transport. */
  close?(): Promise<unknown>;
};

export type McpCall = {
  readonly name: string;
  readonly arguments: Record<string, unknown>;
  readonly _meta?: Record<string, unknown>;
};

export type McpCallOptions = {
  readonly signal: AbortSignal;
  readonly timeout: number;
  /** Called while the tool runs, if its server reports progress. */
  readonly onprogress: (progress: McpProgress) => void;
};

/** How far a call is, as its server says. */
export type McpProgress = {
  readonly progress: number;
  readonly total?: number | undefined;
  readonly message?: string | undefined;
};

/** A tool as its server lists it. Everything in it is the server's claim, its annotations included. */
export type McpTool = {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly inputSchema: object;
  readonly annotations?: {
    readonly readOnlyHint?: boolean;
    readonly destructiveHint?: boolean;
    readonly idempotentHint?: boolean;
    readonly openWorldHint?: boolean;
  };
};
