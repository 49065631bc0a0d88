import { extname, join } from "node:path";

/** Where the stand-in asks its reference server. */
export const standInPath = "/claude-cli";

/**
 * What `claudeCli` takes so that it starts a stand-in for the Claude CLI, which asks the reference server at this address:
 * `claudeCli({ model: "opus", ...claudeCliStandIn(server.url) })`. It keeps its sessions in that server, and runs no tools: a script gives
 * the results (`hosted({ type: "function_call_output", call_id, output })`) behind the calls of an answer.
 */
export function claudeCliStandIn(url: string): {
  readonly command: readonly [string, string];
  readonly env: { readonly ANTHROPIC_BASE_URL: string };
} {
  // Beside this file, as a source or built.
  const program = join(import.meta.dirname, `stand-in${extname(import.meta.filename)}`);
  return { command: [process.execPath, program], env: { ANTHROPIC_BASE_URL: url } };
}
