import { resolve } from "node:path";
import { isJsonList, type JsonObject } from "../../base/json.ts";
import { kindOf, type OptionNames } from "../../base/options.ts";
import type { InferenceRequest, InferenceResponse, Provider } from "../../engine/stack/provider.ts";
import { createDeadline } from "../http/deadline.ts";
import { variableCredentials } from "../secrets/credentials.ts";
import { maskedProvider } from "../secrets/masked-provider.ts";
import { checkSecrets, maskable, secretValue } from "../secrets/secret-values.ts";
import { type AnswerLimits, answerLimits } from "../settings/answer-limits.ts";
import { checkedSettings, type OptionWords } from "../settings/checked-settings.ts";
import type { Secrets, TextOrSecret } from "../settings/connection-options.ts";
import { ProviderSettingsError } from "../settings/settings-error.ts";
import { claudeCliCodec, invocationOf } from "./claude-cli-codec.ts";
import { runCli } from "./run-cli.ts";

/** How the CLI is started. None of this is recorded, but for the command and the folder. */
export type ClaudeCliConnection = {
  /** The program and what stands before its arguments; `["claude"]` when absent. */
  readonly command?: string | readonly [string, ...string[]] | undefined;
  /** Where it works, and keeps its sessions by; the folder of this process when absent. */
  readonly cwd?: string | undefined;
  /** Beside the environment of this process: `ANTHROPIC_API_KEY`, `ANTHROPIC_BASE_URL`. Values of names that end in key or token are masked. */
  readonly env?: Readonly<Record<string, TextOrSecret>> | undefined;
  /** Values for what is `secret("NAME")` in arguments and `env`, of 8 characters or more: given to it, never recorded, and masked in what it says. */
  readonly secrets?: Secrets | undefined;
  /** For a whole answer, with all that its tools do; ten minutes when absent. For more, raise `takeoverAfterMs` of the engine too. */
  readonly timeoutMs?: number | undefined;
  /** How much it may print, and how long it may pause. */
  readonly limits?: Partial<AnswerLimits> | undefined;
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

const connectionNames: OptionNames<ClaudeCliConnection> = {
  ...{ command: true, cwd: true, env: true, secrets: true, timeoutMs: true, limits: true },
};
const settingNames: OptionNames<ClaudeCliSettings> = { model: true, instructions: true, args: true };

const words: OptionWords = {
  ...{ provider: "claudeCli", connectionNames, settingNames, decided: new Set<string>(), refusals: new Map() },
  ...{ modelExample: null, transports: [] },
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
  checkArguments(options.args ?? []);
  const { secrets = {}, timeoutMs = 600_000 } = options;
  checkSecrets(settings, secrets);
  const env = Object.fromEntries(
    Object.entries(options.env ?? {}).map(
      ([name, value]) => [name, secretValue(`env.${name}`, value, secrets)] as const,
    ),
  );
  const command = programOf(options.command ?? "claude");
  const cwd = resolve(textOf("cwd", options.cwd ?? "."));
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
function programOf(command: string | readonly string[]): readonly [string, ...string[]] {
  const [program = "", ...before] = typeof command === "string" ? [command] : textsIn("command", command);
  if (program !== "") return [program, ...before];
  throw new ProviderSettingsError("claudeCli: command is empty: give the program that the Claude CLI is");
}

function textOf(name: string, given: unknown): string {
  if (typeof given === "string" && given !== "") return given;
  throw new ProviderSettingsError(`claudeCli: ${name} is ${kindOf(given)}: give a text`);
}

function textsIn(name: string, given: unknown): readonly string[] {
  const texts = isJsonList(given) ? given.filter((each) => typeof each === "string") : [];
  if (isJsonList(given) && texts.length === given.length) return texts;
  throw new ProviderSettingsError(`claudeCli: ${name} is ${kindOf(given)}: give a list of texts`);
}

function checkArguments(args: readonly string[]): void {
  const decided = textsIn("args", args).find((each) =>
    /^(-p|--print|--resume|-r|--continue|-c|--fork-session|--(in|out)put-format|--session-id)\b/.test(each),
  );
  if (decided !== undefined)
    throw new ProviderSettingsError(`args has ${decided}: every request decides it anew; leave it out`);
}
