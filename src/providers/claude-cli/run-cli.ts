import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { messageOf } from "../../base/error-message.ts";
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  jsonOf,
  listOf,
  objectsOf,
  textOrEmpty,
} from "../../base/json.ts";
import { linesOf } from "../../base/lines.ts";
import { utf8Length } from "../../base/utf8.ts";
import type { StreamDelta } from "../../engine/ports/provider.ts";
import { ProviderError } from "../../engine/ports/provider-error.ts";
import { callStart } from "../answers/call-start.ts";
import { messagesError } from "../anthropic/errors.ts";
import { withPartial } from "../failures/classify-error.ts";
import { abortedBeforeSending, type Deadline, interruption } from "../http/deadline.ts";
import { type AnswerLimits, limitError } from "../settings/answer-limits.ts";
import { draftsOf } from "./claude-cli-codec.ts";

type Invocation = { readonly args: readonly string[]; readonly stdin: string };

type Running = {
  readonly command: readonly [string, ...string[]];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly limits: AnswerLimits;
  readonly deadline: Deadline;
  readonly onDelta: (delta: StreamDelta) => void;
};

/**
 * Runs the CLI once and returns all lines that it printed, up to its result. The process has always ended afterwards.
 *
 * @throws {ProviderError} if the CLI cannot be started, dies, prints a line that is not JSON, pauses too long, prints too much, reports an
 * error, does not know the session (`lost-state`), or the deadline passes; `partial` has the answer so far.
 */
export async function runCli({ args, stdin }: Invocation, running: Running): Promise<JsonObject> {
  const { command, cwd, env, deadline } = running;
  if (deadline.caller.aborted) throw abortedBeforeSending(deadline.caller);
  const [program, ...before] = command;
  const child = spawn(program, [...before, ...args], { cwd, env: { ...process.env, ...env }, stdio: "pipe" });
  const exited = exitOf(child);
  const started = await startOf(child, program, cwd);
  if (started !== null) throw started;
  const stderr = tailOf(child);
  // A dead process does not read its input; its exit tells why.
  child.stdin.on("error", () => undefined);
  child.stdin.end(stdin);
  const lines: JsonObject[] = [];
  let isDone = false;
  try {
    const result = await readLines(child, lines, running);
    isDone = true;
    if (result === null) throw await diedError(exited, stderr);
    if (hasFailed(result)) throw failureOf(result, stderr());
    return { lines };
  } catch (error) {
    throw error instanceof ProviderError && lines.length > 0 && error.outcome === "unknown"
      ? withPartial(error, lines)
      : error;
  } finally {
    await stop(child, exited, isDone);
  }
}

type End = { readonly code: number | null; readonly signal: NodeJS.Signals | null };

/** Does not wait for the pipes, which a child of the process may keep open. */
const exitOf = (child: ChildProcessWithoutNullStreams): Promise<End> =>
  new Promise((done) => {
    child.once("exit", (code, signal) => done({ code, signal }));
  });

/** Null once it runs. If it does not start, it got no input. */
async function startOf(
  child: ChildProcessWithoutNullStreams,
  program: string,
  cwd: string,
): Promise<ProviderError | null> {
  const cause = await new Promise<Error | null>((done) => {
    child.once("spawn", () => done(null));
    child.once("error", done);
  });
  if (cause === null) return null;
  const text = `cannot start the Claude CLI as '${program}' (${messageOf(cause)}): ${startAdvice(cause, cwd)}`;
  return new ProviderError(text, { kind: "invalid-request", outcome: "rejected", cause });
}

/** Node reports the same error for a missing program and a missing folder. */
function startAdvice(cause: Error, cwd: string): string {
  if (!existsSync(cwd)) return `the folder cwd (${cwd}) does not exist; create it, or give another`;
  return "code" in cause && cause.code === "ENOENT"
    ? "install it with 'npm install -g @anthropic-ai/claude-code', or give its path as command"
    : "check that command is a program that this user may execute";
}

function tailOf(child: ChildProcessWithoutNullStreams): () => string {
  let tail = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    tail = (tail + text).slice(-maxTail);
  });
  return () => tail.trim();
}

const maxTail = 2_000;

/** The result, or null if the process printed none. */
async function readLines(
  child: ChildProcessWithoutNullStreams,
  lines: JsonObject[],
  { limits, deadline, onDelta }: Running,
): Promise<JsonObject | null> {
  using patience = patienceWith(child, { limits, deadline });
  const printed = linesOf(metered(child.stdout.setEncoding("utf8"), limits, patience));
  const next = (): Promise<IteratorResult<string, void>> => Promise.race([printed.next(), patience.over]);
  let told = 0;
  for (;;) {
    const { done, value } = await next();
    if (done === true) return null;
    if (value.trim() === "") continue;
    const line = jsonOf(value);
    if (!isJsonObject(line)) {
      // A dying process leaves its last line unfinished.
      if (value.startsWith("{") && (await next()).done === true) return null;
      throw nonsense(value);
    }
    lines.push(line);
    told = tell(line, told, onDelta);
    if (line["type"] === "result") return line;
  }
}

/** The limits of the wait for output. */
type Patience = Disposable & {
  /** Restarts the idle timer after output. */
  readonly renew: () => void;
  /**
   * Rejects when the deadline passes or the output pauses too long; resolves as the end of the output when the process has exited and
   * prints no more.
   */
  readonly over: Promise<{ readonly done: true; readonly value: undefined }>;
};

function patienceWith(
  child: ChildProcessWithoutNullStreams,
  { limits, deadline }: Pick<Running, "limits" | "deadline">,
): Patience {
  const { promise: over, resolve, reject } = Promise.withResolvers<{ done: true; value: undefined }>();
  over.catch(() => undefined);
  const stopped = (): void => reject(interruption(deadline) ?? deadline.signal.reason);
  let timer: NodeJS.Timeout | undefined;
  const renew = (): void => {
    clearTimeout(timer);
    // A child of the process may hold the pipes open for any time.
    timer = isGone(child)
      ? setTimeout(() => resolve({ done: true, value: undefined }), graceMs)
      : setTimeout(() => reject(limitError("idleMs", limits)), limits.idleMs);
  };
  deadline.signal.addEventListener("abort", stopped, { once: true });
  if (deadline.signal.aborted) stopped();
  child.once("exit", renew);
  renew();
  return {
    renew,
    over,
    [Symbol.dispose]() {
      clearTimeout(timer);
      child.off("exit", renew);
      deadline.signal.removeEventListener("abort", stopped);
    },
  };
}

const isGone = ({ exitCode, signalCode }: ChildProcessWithoutNullStreams): boolean =>
  exitCode !== null || signalCode !== null;

/** The output, checked against the limits as it comes: a line that never ends is not kept. */
async function* metered(
  pieces: AsyncIterable<string>,
  limits: AnswerLimits,
  { renew }: Patience,
): AsyncGenerator<string, void> {
  let bytes = 0;
  let lineBytes = 0;
  for await (const piece of pieces) {
    renew();
    bytes += utf8Length(piece);
    if (bytes > limits.streamBytes) throw limitError("streamBytes", limits);
    for (const [place, part] of piece.split("\n").entries()) {
      lineBytes = utf8Length(part) + (place === 0 ? lineBytes : 0);
      if (lineBytes > limits.bodyBytes) throw limitError("bodyBytes", limits);
    }
    yield piece;
  }
}

const deltaTypes = { assistant: "text-delta", reasoning: "reasoning-delta", tool_call: "tool-call-delta" } as const;

/** Passes on the blocks of a line; returns how many were passed on so far. */
function tell(line: JsonObject, told: number, onDelta: Running["onDelta"]): number {
  const drafts = draftsOf(line);
  for (const [index, { kind, payload }] of drafts.entries()) {
    if (kind !== "assistant" && kind !== "reasoning" && kind !== "tool_call") continue;
    const text = textIn(payload["arguments"] ?? payload["summary"] ?? payload["content"]);
    if (kind === "tool_call") onDelta(callStart(told + index, { callId: payload["callId"], name: payload["name"] }));
    if (text !== "") onDelta({ type: deltaTypes[kind], outputIndex: told + index, text });
  }
  return told + drafts.length;
}

function textIn(said: JsonValue | undefined): string {
  if (typeof said === "string") return said;
  const parts = objectsOf(said);
  return parts.map(({ text }) => textOrEmpty(text)).join("");
}

function nonsense(line: string): ProviderError {
  const text = `the Claude CLI printed a line that is not a JSON object: ${line.slice(0, 200)}`;
  return new ProviderError(text, { kind: "server-error", outcome: "unknown", body: line.slice(0, maxTail) });
}

async function diedError(exited: Promise<End>, stderr: () => string): Promise<ProviderError> {
  const end = await within(exited, graceMs);
  const said = stderr();
  if (isUnknownSession(said)) return lostSession(said);
  const code = `ended with code ${end?.code ?? "unknown"}`;
  const how = end === null ? "closed its output" : end.signal === null ? code : `was ended by ${end.signal}`;
  const text = `the Claude CLI ${how} before it gave a result${said === "" ? "" : `: ${said}`}`;
  return new ProviderError(text, { kind: "stream-cut", outcome: "unknown", body: said });
}

/** An unknown kind of end is not a failure: the output is kept as an incomplete answer. */
const hasFailed = ({ is_error: isError, subtype }: JsonObject): boolean =>
  isError === true || typeof subtype !== "string" || subtype.startsWith("error");

/** The CLI also says `success` if its request was refused. Its tools may have acted by then. */
function failureOf(result: JsonObject, stderr: string): ProviderError {
  const { result: said, errors, subtype, api_error_status: status } = result;
  const told = [said, ...listOf(errors), stderr].filter((text) => typeof text === "string");
  const unknown = told.find(isUnknownSession);
  if (unknown !== undefined) return lostSession(unknown);
  const message = told.find((text) => text !== "") ?? `the Claude CLI ended with ${JSON.stringify(subtype)}`;
  const http = typeof status === "number" ? status : null;
  // The CLI passes on its API's error, as a text or as the body.
  const refused = message.replace(/^API Error: \d+ /, "");
  const { kind } = messagesError({ status: http, body: jsonOf(refused) ?? { error: { message: refused } } });
  return new ProviderError(message, { kind, outcome: "unknown", status: http, body: result });
}

const isUnknownSession = (text: string): boolean => /No conversation found with session ID/.test(text);

/** The CLI ends before it calls the model, so a new session can be given everything. */
const lostSession = (message: string): ProviderError =>
  new ProviderError(message, { kind: "lost-state", outcome: "rejected" });

/** Waits for a process that has printed its result to exit. Stops any other with SIGTERM, and then with SIGKILL. */
async function stop(child: ChildProcessWithoutNullStreams, exited: Promise<End>, isDone: boolean): Promise<void> {
  child.stdout.resume();
  for (const signal of [...(isDone ? [null] : []), "SIGTERM", "SIGKILL"] as const) {
    if (signal !== null) child.kill(signal);
    if ((await within(exited, graceMs)) !== null) break;
  }
  // A child of the process may outlive it and hold these pipes; do not wait for that.
  for (const pipe of [child.stdin, child.stdout, child.stderr]) pipe.destroy();
}

/** How the process ended, or null if it has not within that time. */
async function within(exited: Promise<End>, ms: number): Promise<End | null> {
  const later = Promise.withResolvers<null>();
  const timer = setTimeout(later.resolve, ms, null);
  const end = await Promise.race([exited, later.promise]);
  clearTimeout(timer);
  return end;
}

const graceMs = 2_000;
