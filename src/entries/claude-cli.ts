/** The Claude command line, as a subprocess. */
export {
  type ClaudeCliConnection,
  type ClaudeCliOptions,
  type ClaudeCliSettings,
  claudeCli,
} from "../providers/claude-cli/claude-cli.ts";
export { claudeCliCodec } from "../providers/claude-cli/claude-cli-codec.ts";
export type { AnswerLimits } from "../providers/settings/answer-limits.ts";
export type { HttpOptions, Secrets, TextOrSecret } from "../providers/settings/connection-options.ts";
