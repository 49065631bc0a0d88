import { resolve } from "node:path";
import type { JsonObject } from "../../base/json.ts";
import { anything, type OptionTable } from "../../base/options.ts";
import type { InferenceRequest, InferenceResponse, Provider } from "../../engine/ports/provider.ts";
import { createDeadline } from "../http/deadline.ts";
import { variableCredentials } from "../secrets/credentials.ts";
import { maskedProvider } from "../secrets/masked-provider.ts";
import { checkSecrets, maskable, secretValue } from "../secrets/secret-values.ts";
import { answerLimits } from "../settings/answer-limits.ts";
import { checkedSettings, type OptionWords } from "../settings/checked-settings.ts";
import { type HttpOptions, httpOptions, type TextOrSecret } from "../settings/connection-options.ts";
import { instructions, milliseconds, modelLike, namedOf, textList } from "../settings/option-checks.ts";
import { ProviderSettingsError } from "../settings/settings-error.ts";
import { claudeCliCodec, invocationOf } from "./claude-cli-codec.ts";
import { runCli } from "./run-cli.ts";

/** How the CLI is started. Only the command and the folder are recorded. */
export type ClaudeCliConnection = Pick<HttpOptions, "secrets" | "timeoutMs" | "limits"> & {
  /** The program and its first arguments; `["claude"]` by default. */
  readonly command?: string | readonly [string, ...string[]] | undefined;
  /** The working folder, by which the CLI also keeps its sessions; the folder of this process by default. */
  readonly cwd?: string | undefined;
  /** Added to the environment of this process: `ANTHROPIC_API_KEY`, `ANTHROPIC_BASE_URL`. Values whose names end in key or token are masked. */
  readonly env?: Readonly<Record<string, TextOrSecret>> | undefined;
  /** Limits a whole answer, with all that its tools do; ten minutes by default. To raise it, raise `takeoverAfterMs` of the engine too. */
  readonly timeoutMs?: HttpOptions["timeoutMs"];
};

/** The settings of its arguments, recorded unchanged. */
export type ClaudeCliSettings = {
  readonly model?: string | undefined;
  /** Appended to the CLI's own system prompt. */
  readonly instructions?: TextOrSecret | undefined;
  /** Further arguments: `["--max-turns", "5", "--allowed-tools", "Read"]`. */
  readonly args?: readonly string[] | undefined;
};

export type ClaudeCliOptions = ClaudeCliConnection & ClaudeCliSettings;

const { secrets, limits } = httpOptions;

const connection: OptionTable<ClaudeCliConnection> = {
  command: (what, given) => programOf(what, given),
  ...{ cwd: namedOf("a text"), env: anything, secrets, timeoutMs: milliseconds, limits },
};
const settings: OptionTable<ClaudeCliSettings> = { model: modelLike("opus"), instructions, args: argumentsOf };

const words: OptionWords = {
  ...{ provider: "claudeCli", connection, settings, decided: new Set<string>(), refusals: new Map() },
  otherNames: new Map([
    ["system", "instructions"],
    ["max_turns", "args"],
    ["allowedTools", "args"],
    ["tools", "args"],
    ["maxTurns", "args"],
    ["path", "command"],
  ]),
};

/**
 * The Claude CLI as a subprocess: an agent with its own tools, whose calls and results are recorded as closed blocks of an answer. Each
 * request starts a process, which continues the session of the last answer if the Turn continues from there.
 *
 * @throws {ProviderSettingsError} if an option is unknown, or every request decides an argument.
 */
export function claudeCli(options: ClaudeCliOptions = {}): Provider {
  const settings = checkedSettings(options, words);
  const { secrets = {}, timeoutMs = 600_000 } = options;
  checkSecrets(settings, secrets);
  const env = Object.fromEntries(
    Object.entries(options.env ?? {}).map(
      ([name, value]) => [name, secretValue(`env.${name}`, value, secrets)] as const,
    ),
  );
  const command = programOf("claudeCli: command", options.command ?? "claude");
  const cwd = resolve(options.cwd ?? ".");
  const limits = answerLimits(options.limits);

  async function infer({ bodyText, signal, onDelta }: InferenceRequest): Promise<InferenceResponse> {
    using deadline = createDeadline(signal, timeoutMs);
    const response: JsonObject = await runCli(invocationOf(bodyText), { command, cwd, env, limits, deadline, onDelta });
    return { response };
  }

  const provider: Provider = {
    name: "claude-cli",
    scope: `claude-cli ${command.join(" ")} cwd=${cwd} codec=${claudeCliCodec.family}`,
    codec: claudeCliCodec,
    // With an unknown session the process ends; otherwise the CLI does not say what it continues from.
    capabilities: { chain: true, echo: "none", counts: "none" },
    ...{ transport: "stdio", settings, systemAs: "instructions", timeoutMs, infer },
  };
  const lasting = [...maskable(secrets), ...variableCredentials({ ...process.env, ...env })];
  return maskedProvider(
    provider,
    () => lasting,
    () => secrets,
  );
}

/** A program, with its first arguments. */
function programOf(what: string, given: unknown): readonly [string, ...string[]] {
  const [program = "", ...before] = typeof given === "string" ? [given] : textList(what, given);
  if (program !== "") return [program, ...before];
  throw new ProviderSettingsError(`${what} is empty: give the path of the Claude CLI`);
}

function argumentsOf(what: string, given: unknown): readonly string[] {
  const args = textList(what, given);
  const decided = args.find((each) =>
    /^(-p|--print|--resume|-r|--continue|-c|--fork-session|--(in|out)put-format|--session-id)\b/.test(each),
  );
  if (decided === undefined) return args;
  throw new ProviderSettingsError(`args has ${decided}, which turnlog sets for each request: leave it out`);
}
