import { join } from "node:path";

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
  // As a source or built; a bundle keeps this file's code in another folder.
  const isSource = import.meta.filename.endsWith(".ts");
  const program = join(import.meta.dirname, `../claude-cli/stand-in.${isSource ? "ts" : "js"}`);
  return { command: [process.execPath, program], env: { ANTHROPIC_BASE_URL: url } };
}
