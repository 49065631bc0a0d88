import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { messageOf } from "../../base/error-message.ts";
import { isJsonObject, type JsonObject, type JsonValue, listOf, objectsOf, textOrEmpty } from "../../base/json.ts";
import { linesOf } from "../../base/lines.ts";
import { utf8Length } from "../../base/utf8.ts";
import { ProviderError, type StreamDelta } from "../../engine/stack/provider.ts";
import { type AnswerLimits, limitError } from "../answer-limits.ts";
import { messagesError } from "../anthropic/errors.ts";
import { withPartial } from "../classify-error.ts";
import { abortedBeforeSending, type Deadline, interruption } from "../deadline.ts";
import { jsonOf } from "../json-text.ts";
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
 * Runs the CLI once, and gives all lines that it printed, up to its result. However this ends, the process has ended.
 *
 * @throws {ProviderError} when it cannot be started, dies, prints what is no JSON, pauses or prints too much, says that it failed,
 * does not know the session (`lost-state`), or nobody waits any longer; what it had said by then is in `partial`.
 */
export async function runCli({ args, stdin }: Invocation, running: Running): Promise<JsonObject> {
  const { command, cwd, env, deadline } = running;
  if (deadline.caller.aborted) throw abortedBeforeSending(deadline.caller);
  const [program, ...before] = command;
  const child = spawn(program, [...before, ...args], { cwd, env: { ...process.env, ...env }, stdio: "pipe" });
  const ended = endOf(child);
  const started = await startOf(child, program, cwd);
  if (started !== null) throw started;
  const stderr = tailOf(child);
  // One that died does not read what it is given; how it ended says why.
  child.stdin.on("error", () => undefined);
  child.stdin.end(stdin);
  const lines: JsonObject[] = [];
  let isDone = false;
  try {
    const result = await readLines(child, lines, running);
    isDone = true;
    if (result === null) throw await diedError(ended, stderr);
    if (result["is_error"] === true || result["subtype"] !== "success") throw failureOf(result, stderr());
    return { lines };
  } catch (error) {
    throw error instanceof ProviderError && lines.length > 0 && error.outcome === "unknown"
      ? withPartial(error, lines)
      : error;
  } finally {
    await stop(child, ended, isDone);
  }
}

type End = { readonly code: number | null; readonly signal: NodeJS.Signals | null };

const endOf = (child: ChildProcessWithoutNullStreams): Promise<End> =>
  new Promise((done) => {
    child.once("close", (code, signal) => done({ code, signal }));
  });

/** Null once it runs. Nothing was given to one that does not. */
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

/** Node says the same of a program and of a folder that are not there. */
function startAdvice(cause: Error, cwd: string): string {
  if (!existsSync(cwd)) return `cwd is ${cwd}, which is not there; make it, or give another`;
  return "code" in cause && cause.code === "ENOENT"
    ? "install it with 'npm install -g @anthropic-ai/claude-code', or give command the program that it is"
    : "check that command is a program, and may be run";
}

function tailOf(child: ChildProcessWithoutNullStreams): () => string {
  let tail = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    tail = (tail + text).slice(-maxTail);
  });
  return () => tail.trim();
}

const maxTail = 2_000;

/** The result, or null where it printed none. */
async function readLines(
  child: ChildProcessWithoutNullStreams,
  lines: JsonObject[],
  { limits, deadline, onDelta }: Running,
): Promise<JsonObject | null> {
  const { promise: stopped, reject } = Promise.withResolvers<never>();
  stopped.catch(() => undefined);
  const onAbort = (): void => reject(interruption(deadline) ?? deadline.signal.reason);
  deadline.signal.addEventListener("abort", onAbort, { once: true });
  if (deadline.signal.aborted) onAbort();
  let idle: NodeJS.Timeout | undefined;
  const wait = (): void => {
    clearTimeout(idle);
    idle = setTimeout(() => reject(limitError("idleMs", limits)), limits.idleMs);
  };
  const printed = linesOf(child.stdout.setEncoding("utf8"));
  let bytes = 0;
  let told = 0;
  try {
    for (;;) {
      wait();
      const next = await Promise.race([printed.next(), stopped]);
      if (next.done === true) return null;
      if (next.value.trim() === "") continue;
      bytes += utf8Length(next.value);
      if (bytes > limits.streamBytes) throw limitError("streamBytes", limits);
      const line = jsonOf(next.value);
      if (!isJsonObject(line)) {
        // One that dies leaves its last line unfinished.
        const isLast = next.value.startsWith("{") && (await Promise.race([printed.next(), stopped])).done === true;
        if (isLast) return null;
        throw nonsense(next.value);
      }
      lines.push(line);
      told = tell(line, told, onDelta);
      if (line["type"] === "result") return line;
    }
  } finally {
    clearTimeout(idle);
    deadline.signal.removeEventListener("abort", onAbort);
  }
}

const deltaTypes = { assistant: "text-delta", reasoning: "reasoning-delta", tool_call: "tool-call-delta" } as const;

/** Tells the blocks of a line; gives how many were told so far. */
function tell(line: JsonObject, told: number, onDelta: Running["onDelta"]): number {
  const drafts = draftsOf(line);
  for (const [index, { kind, payload }] of drafts.entries()) {
    if (kind !== "assistant" && kind !== "reasoning" && kind !== "tool_call") continue;
    const text = textIn(payload["arguments"] ?? payload["summary"] ?? payload["content"]);
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
  const text = `the Claude CLI printed what is no JSON object: ${line.slice(0, 200)}`;
  return new ProviderError(text, { kind: "server-error", outcome: "unknown", body: line.slice(0, maxTail) });
}

async function diedError(ended: Promise<End>, stderr: () => string): Promise<ProviderError> {
  const { code, signal } = await ended;
  const said = stderr();
  if (isUnknownSession(said)) return lostSession(said);
  const how = signal === null ? `ended with code ${code ?? "unknown"}` : `was ended by ${signal}`;
  const text = `the Claude CLI ${how} before it gave a result${said === "" ? "" : `: ${said}`}`;
  return new ProviderError(text, { kind: "stream-cut", outcome: "unknown", body: said });
}

/** It says `success` where its request was refused, too. Its tools may have done something by then. */
function failureOf(result: JsonObject, stderr: string): ProviderError {
  const { result: said, errors, subtype, api_error_status: status } = result;
  const told = [said, ...listOf(errors), stderr].filter((text) => typeof text === "string");
  const unknown = told.find(isUnknownSession);
  if (unknown !== undefined) return lostSession(unknown);
  const message = told.find((text) => text !== "") ?? `the Claude CLI ended with ${JSON.stringify(subtype)}`;
  const http = typeof status === "number" ? status : null;
  // It hands on what its API said, as a text or as the body that it is.
  const refused = message.replace(/^API Error: \d+ /, "");
  const { kind } = messagesError({ status: http, body: jsonOf(refused) ?? { error: { message: refused } } });
  return new ProviderError(message, { kind, outcome: "unknown", status: http, body: result });
}

const isUnknownSession = (text: string): boolean => /No conversation found with session ID/.test(text);

/** It ends before it asks anybody: a new session is given everything. */
const lostSession = (message: string): ProviderError =>
  new ProviderError(message, { kind: "lost-state", outcome: "rejected" });

/** Waits for a process that has said its last to end, and ends one that has not: kindly, and if it does not listen, at once. */
async function stop(child: ChildProcessWithoutNullStreams, ended: Promise<End>, isDone: boolean): Promise<void> {
  child.stdout.resume();
  const exited = Promise.race([ended, exitOf(child)]);
  for (const signal of [...(isDone ? [null] : []), "SIGTERM", "SIGKILL"] as const) {
    if (signal !== null) child.kill(signal);
    if (await isWithin(exited, graceMs)) break;
  }
  // What it started may outlive it, and holds its ends of these pipes: nobody waits for that.
  for (const pipe of [child.stdin, child.stdout, child.stderr]) pipe.destroy();
}

const exitOf = async (child: ChildProcessWithoutNullStreams): Promise<void> => {
  if (child.exitCode !== null || child.signalCode !== null) return;
  await once(child, "exit");
};

async function isWithin(ended: Promise<unknown>, ms: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const later = new Promise<boolean>((done) => {
    timer = setTimeout(done, ms, false);
  });
  const isEnded = await Promise.race([ended.then(() => true), later]);
  clearTimeout(timer);
  return isEnded;
}

const graceMs = 2_000;
