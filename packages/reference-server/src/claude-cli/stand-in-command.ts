import { join } from "node:path";

/** The path at which the stand-in asks its reference server. */
export const standInPath = "/claude-cli";

/**
 * Options for `claudeCli` to start a stand-in for the Claude CLI, which asks the reference server at this address:
 * `claudeCli({ model: "opus", ...claudeCliStandIn(server.url) })`. The server keeps its sessions. It runs no tools: the script has to
 * give the results (`hosted({ type: "function_call_output", call_id, output })`) after the calls of an answer.
 */
export function claudeCliStandIn(url: string): {
  readonly command: readonly [string, string];
  readonly env: { readonly ANTHROPIC_BASE_URL: string };
} {
  // As source or built. A bundle keeps this file's code in another folder.
  const isSource = import.meta.filename.endsWith(".ts");
  const program = join(import.meta.dirname, `../claude-cli/stand-in.${isSource ? "ts" : "js"}`);
  return { command: [process.execPath, program], env: { ANTHROPIC_BASE_URL: url } };
}
