import { resolve } from "node:path";
import type { JsonObject } from "../../base/json.ts";
import { anything, type OptionTable } from "../../base/options.ts";
import type { InferenceRequest, InferenceResponse, Provider } from "../../engine/stack/provider.ts";
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

/** How the CLI is started. None of this is recorded, but for the command and the folder. */
export type ClaudeCliConnection = Pick<HttpOptions, "secrets" | "timeoutMs" | "limits"> & {
  /** The program and what stands before its arguments; `["claude"]` when absent. */
  readonly command?: string | readonly [string, ...string[]] | undefined;
  /** Where it works, and keeps its sessions by; the folder of this process when absent. */
  readonly cwd?: string | undefined;
  /** Beside the environment of this process: `ANTHROPIC_API_KEY`, `ANTHROPIC_BASE_URL`. Values of names that end in key or token are masked. */
  readonly env?: Readonly<Record<string, TextOrSecret>> | undefined;
  /** For a whole answer, with all that its tools do; ten minutes when absent. For more, raise `takeoverAfterMs` of the engine too. */
  readonly timeoutMs?: HttpOptions["timeoutMs"];
};

/** What its arguments say, recorded as it stands. */
export type ClaudeCliSettings = {
  readonly model?: string | undefined;
  /** Added to its own system prompt. */
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
 * The Claude CLI as a subprocess: an agent with tools of its own, whose calls and results come as closed blocks of an answer. Each request
 * starts a process, which goes on with the session of the last answer where the Turn goes on from there.
 *
 * @throws {ProviderSettingsError} for a name that is no option, and for arguments that every request decides.
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
    // A session that it does not know ends the process; it says nothing of what it goes on from otherwise.
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

/** A program, with what stands before the arguments. */
function programOf(what: string, given: unknown): readonly [string, ...string[]] {
  const [program = "", ...before] = typeof given === "string" ? [given] : textList(what, given);
  if (program !== "") return [program, ...before];
  throw new ProviderSettingsError(`${what} is empty: give the program that the Claude CLI is`);
}

function argumentsOf(what: string, given: unknown): readonly string[] {
  const args = textList(what, given);
  const decided = args.find((each) =>
    /^(-p|--print|--resume|-r|--continue|-c|--fork-session|--(in|out)put-format|--session-id)\b/.test(each),
  );
  if (decided === undefined) return args;
  throw new ProviderSettingsError(`args has ${decided}: every request decides it anew; leave it out`);
}
