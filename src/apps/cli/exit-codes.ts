import { getSystemErrorMessage } from "node:util";
import { textOrNull } from "../../base/json.ts";
import { printable } from "../../base/printable.ts";
import { TurnlogError } from "../../base/turnlog-error.ts";
import { targetBeside } from "../../stores/files.ts";

/** The exit codes of the command. */
export const exitCodes = {
  ok: 0,
  /** A failure, or a difference that the command was asked to find. */
  failure: 1,
  usage: 2,
  notFound: 3,
  integrity: 4,
  /** A replay differs, or a request is incoherent. */
  replay: 5,
  /** The store, the port or Node is unavailable. */
  environment: 6,
  /** `git bisect run` skips a commit that cannot be tested. */
  untestable: 125,
  interrupted: 130,
} as const;
export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/** The input is invalid; the message says what is valid. */
export class UsageError extends TurnlogError<"usage"> {
  override readonly name = "UsageError";

  constructor(message: string, options?: ErrorOptions) {
    super("usage", message, options);
  }
}

/** The named thing does not exist; the message says how to find those that do. */
export class NotFoundError extends TurnlogError<"not-found"> {
  override readonly name = "NotFoundError";

  constructor(message: string, options?: ErrorOptions) {
    super("not-found", message, options);
  }
}

/** The exit code and message of an error, chosen by its `code`, so that no class has to be loaded. */
export type ShellFailure = { readonly exitCode: ExitCode; readonly message: string };

export function shellFailureOf(error: unknown): ShellFailure {
  if (!(error instanceof Error)) return { exitCode: exitCodes.failure, message: oneLine(String(error)) };
  const code = codeOf(error);
  if (isUnreachable(code === "run-failed" ? error.cause : error)) {
    const advice = "check that the server runs and the address is right";
    return { exitCode: exitCodes.environment, message: said(error, advice) };
  }
  const known = code === null ? undefined : failures.get(code);
  if (known !== undefined) return { exitCode: known.exitCode, message: said(toldOfFile(error), known.advice) };
  if (code !== null) return { exitCode: exitCodes.failure, message: said(error) };
  return { exitCode: exitCodes.failure, message: said(error, "this looks like a bug of turnlog; --debug shows where") };
}

/** The same for an error of stdout: a full disk, a failing device. */
export function outputFailureOf({ errno, code, message }: NodeJS.ErrnoException): ShellFailure {
  const reason = errno === undefined ? message : getSystemErrorMessage(errno);
  const error = new Error(`the output cannot be written: ${reason}`);
  return { exitCode: exitCodes.environment, message: said(error, failures.get(code ?? "")?.advice) };
}

/** A message for people from Node's file error, with the name that the user typed. */
function toldOfFile(error: Error & NodeJS.ErrnoException): Error {
  const { path, errno } = error;
  if (path === undefined || errno === undefined) return error;
  return new Error(`${targetBeside(path)}: ${getSystemErrorMessage(errno)}`);
}

type Advice = { readonly exitCode: ExitCode; readonly advice?: string };

const failures: ReadonlyMap<string, Advice> = new Map<string, Advice>([
  ["usage", { exitCode: exitCodes.usage }],
  ["unknown-store", { exitCode: exitCodes.usage }],
  ["provider-settings", { exitCode: exitCodes.usage }],
  ["config-unusable", { exitCode: exitCodes.usage }],
  ["prices-unusable", { exitCode: exitCodes.usage }],
  ["allowance-unusable", { exitCode: exitCodes.usage }],
  ["not-found", { exitCode: exitCodes.notFound }],
  ["layer-not-found", { exitCode: exitCodes.notFound }],
  ["store-not-found", { exitCode: exitCodes.notFound, advice: "`turnlog demo` creates one, --store names another" }],
  ["revision-not-found", { exitCode: exitCodes.notFound }],
  ["request-not-found", { exitCode: exitCodes.notFound }],
  ["exchange-not-found", { exitCode: exitCodes.notFound }],
  ["erasure-not-found", { exitCode: exitCodes.notFound }],
  ["content-erased", { exitCode: exitCodes.notFound }],
  ["conversation-erased", { exitCode: exitCodes.notFound }],
  ["receipt-unwritten", { exitCode: exitCodes.environment }],
  ["store-cannot-erase", { exitCode: exitCodes.environment }],
  ["store-takes-no-lines", { exitCode: exitCodes.environment }],
  ["not-in-doubt", { exitCode: exitCodes.notFound }],
  ["not-waiting", { exitCode: exitCodes.notFound }],
  ["approval-input", { exitCode: exitCodes.usage }],
  ["mcp-unusable", { exitCode: exitCodes.environment }],
  ["run-in-progress", { exitCode: exitCodes.failure, advice: "`turnlog resume --takeover` does so" }],
  ["conversation-exists", { exitCode: exitCodes.usage }],
  ["store-corrupted", { exitCode: exitCodes.integrity }],
  [
    "conversation-damaged",
    {
      exitCode: exitCodes.integrity,
      advice: "`turnlog verify` says where it begins, `turnlog skip` continues without it",
    },
  ],
  ["unreadable-event", { exitCode: exitCodes.integrity, advice: "a newer turnlog may have written it: update" }],
  ["edit-does-not-apply", { exitCode: exitCodes.integrity, advice: "`turnlog verify` says where it begins" }],
  ["unknown-codec", { exitCode: exitCodes.integrity }],
  ["unknown-block-version", { exitCode: exitCodes.integrity, advice: "`turnlog verify` says where it begins" }],
  ["replay-diverged", { exitCode: exitCodes.replay }],
  ["store-unavailable", { exitCode: exitCodes.environment }],
  ["store-replaced", { exitCode: exitCodes.environment }],
  ["store-too-new", { exitCode: exitCodes.environment }],
  ["projection-outdated", { exitCode: exitCodes.environment }],
  ["access-denied", { exitCode: exitCodes.environment }],
  [
    "EADDRINUSE",
    { exitCode: exitCodes.environment, advice: "choose another --port, or stop the program that listens there" },
  ],
  ["ENOENT", { exitCode: exitCodes.notFound, advice: "check the path" }],
  ["EISDIR", { exitCode: exitCodes.usage, advice: "name a file" }],
  ["ENOTDIR", { exitCode: exitCodes.environment, advice: "choose a path whose parent is a folder" }],
  ["EACCES", { exitCode: exitCodes.environment, advice: "check what this user may do with the file and its folder" }],
  ["EROFS", { exitCode: exitCodes.environment, advice: "choose a path that can be written" }],
  ["ENOSPC", { exitCode: exitCodes.environment, advice: "free some space" }],
]);

/** Whether no provider answered, so that the environment is the cause. */
const isUnreachable = (error: unknown): boolean =>
  error instanceof Error &&
  codeOf(error) === "provider-failed" &&
  "kind" in error &&
  (error.kind === "connection" || error.kind === "timeout");

function codeOf(error: Error): string | null {
  return "code" in error ? textOrNull(error.code) : null;
}

const said = ({ message }: Error, advice?: string): string =>
  oneLine(advice === undefined ? message : `${message}: ${advice}`);

// Messages may quote text of a server or a file.
const oneLine = (text: string): string => printable(text).replace(/\s+/gu, " ").trim();
