import { anything, checkFunction, optionsOf } from "../base/options.ts";
import { inOneLine } from "../base/printable.ts";
import { unwatched } from "../base/unwatched.ts";
import { Turn } from "../domain/turn.ts";
import { defineMiddleware, type Layer } from "../engine/ports/middleware.ts";

/** A log entry about a call. It has only numbers and ids, and no content of the conversation. */
export type LogEntry = {
  readonly event: "started" | "completed" | "failed";
  readonly runId: string;
  readonly frame: string;
  /** Number of blocks in the Turn: the one passed in when a call starts, the one with the answer when it completes. */
  readonly blocks: number;
  /** Number of blocks in the Turn by kind. */
  readonly kinds: Readonly<Record<string, number>>;
  /** Milliseconds since the call started; 0 at its start. */
  readonly durationMs: number;
  /** The error's code or name if the call failed; not its message, which may quote the conversation. */
  readonly error?: string;
};

export type LoggingOptions = {
  /** Distinguishes two such layers of one stack, also in the conversation's log. */
  readonly name?: string;
  /** Receives every entry. Its errors are ignored, so that a failing log never stops a conversation. */
  readonly write?: (entry: LogEntry) => unknown;
  /** A clock in milliseconds, with any origin. */
  readonly now?: () => number;
};

const loggingOptions = optionsOf<LoggingOptions>({ name: anything, write: checkFunction, now: checkFunction });

/** Logs each call at its place in the stack: as the outermost layer every step, as the innermost every request. */
export function logging(options: LoggingOptions = {}): Layer {
  loggingOptions.check("logging", options);
  const { name = "logging", write = writeLine, now = () => performance.now() } = options;
  const kindsOf = createCounter();
  return defineMiddleware({ name, version: "1.0.0" }, (next) => async (turn, { runId, frame }) => {
    const since = now();
    const say = (event: LogEntry["event"], { length: blocks }: Turn, kinds: Kinds, error?: unknown): void => {
      const durationMs = event === "started" ? 0 : Math.round((now() - since) * 100) / 100;
      const entry = { event, runId, frame, blocks, kinds, durationMs };
      try {
        unwatched(write(error === undefined ? entry : { ...entry, error: nameOf(error) }));
      } catch {
        // Ignored, as documented at `write`.
      }
    };
    const asked = kindsOf(turn);
    say("started", turn, asked);
    try {
      const result = await next(turn);
      say("completed", result, kindsOf(result));
      return result;
    } catch (error) {
      say("failed", turn, asked, error ?? "unknown");
      throw error;
    }
  });
}

type Kinds = LogEntry["kinds"];

/** Counts the blocks of Turns by kind. If a Turn continues the last one, only its new blocks are counted. */
function createCounter(): (turn: Turn) => Kinds {
  let last: { readonly turn: Turn; readonly kinds: Kinds } = { turn: Turn.empty, kinds: {} };
  return (turn) => {
    const { length, digest } = last.turn;
    const isLonger = length <= turn.length && turn.contextAt(length) === digest;
    const kinds: Record<string, number> = isLonger ? { ...last.kinds } : {};
    for (const { kind } of turn.after(isLonger ? length : 0)) kinds[kind] = (kinds[kind] ?? 0) + 1;
    last = { turn, kinds };
    return kinds;
  };
}

const nameOf = (error: unknown): string => {
  if (!(error instanceof Error)) return "unknown";
  return "code" in error && typeof error.code === "string" ? error.code : error.name;
};

function writeLine({ event, runId, frame, blocks, kinds, durationMs, error }: LogEntry): unknown {
  const counted = Object.entries(kinds).map(([kind, count]) => `${count} ${kind}`);
  const took = event === "started" ? "" : ` after ${durationMs} ms`;
  const why = error === undefined ? "" : ` (${inOneLine(error)})`;
  return process.stderr.write(`${runId}/${frame} ${event}${took}${why}: ${blocks} blocks, ${counted.join(", ")}\n`);
}
