import { TurnlogError } from "../../base/turnlog-error.ts";
import { RunCancelledError, RunFailedError } from "../../engine/session/errors.ts";
import type { ChatFold } from "./chat-fold.ts";
import type { Activity } from "./chat-hub.ts";
import type { ChatWatch } from "./chat-watch.ts";
import type { UiChunk } from "./ui-chunk.ts";
import { answerIdOf } from "./ui-messages.ts";
import type { UiStep } from "./ui-steps.ts";
import { UiStream } from "./ui-stream.ts";

export type AnswerReader = {
  readonly watch: ChatWatch;
  readonly activity: Activity;
  /** The message whose answer is read; null for what comes before the first one. */
  readonly asked: string | null;
  /** What the page shows of it already. */
  readonly known?: readonly UiStep[];
  /** Another answer on the page that this request has changed: its run was ended. */
  readonly changed?: string | null;
  /** The time, as ISO text. */
  readonly now: () => string;
  /** Aborts when the reader has left. */
  readonly left: AbortSignal;
};

/**
 * An answer from its beginning to its end, as it comes: what the log has, and what arrives. Each turn of the loop brings the page from what it
 * was sent to the newest state, so that nothing waits for a slow reader, and nothing is sent twice.
 */
export async function* answerChunks(reader: AnswerReader): AsyncGenerator<readonly UiChunk[]> {
  const { watch, activity, asked, known, changed: other = null, now, left } = reader;
  const stream = new UiStream(known);
  let seen = watch.dataCount;
  while (!left.aborted) {
    const { changed } = watch;
    // Once a later message is being answered, this answer is complete.
    const isOver = activity.isOver || watch.isPast(asked);
    try {
      if (activity.isOver) await watch.upToNow();
    } catch (error) {
      yield failed(codeOf(error));
      return;
    }
    const answer = watch.answerTo(asked);
    const data = watch.dataSince(seen);
    seen = watch.dataCount;
    const chunks = [...data, ...(answer === null ? [] : stream.show(answer, isOver))];
    if (isOver) {
      const ending = endingOf(watch.fold, activity, now());
      const stopped = ending[0]?.type === "abort" ? stoppedText(answer?.id ?? "", stream.takenBack) : [];
      yield [...chunks, ...otherAnswer(other), ...nextAnswer(watch, asked), ...stopped, ...ending];
      return;
    }
    if (chunks.length > 0) yield chunks;
    // The end of the activity is a change, too. A reader that has left goes with the next one.
    else await changed;
  }
}

/** A stream is one message: a page that shows a later question, too, asks for the stream of its answer. */
function nextAnswer(watch: ChatWatch, asked: string | null): readonly UiChunk[] {
  if (!watch.isPast(asked)) return [];
  return [
    { type: "data-next-answer", data: { messageId: answerIdOf(watch.fold.asked() ?? "start") }, transient: true },
  ];
}

const otherAnswer = (messageId: string | null): readonly UiChunk[] =>
  messageId === null ? [] : [{ type: "data-turn-changed", data: { messageId }, transient: true }];

/** The Turn has nothing of a step that was stopped, so it is in no message; a page that has shown its text may go on to show it beside them. */
const stoppedText = (messageId: string, text: string): readonly UiChunk[] =>
  text === "" ? [] : [{ type: "data-stopped", data: { messageId, text }, transient: true }];

/** How an answer ended, or that it waits. */
function endingOf(fold: ChatFold, { failure }: Activity, now: string): readonly UiChunk[] {
  if (failure !== null && !isInLog(failure)) return failed(codeOf(failure));
  if (fold.waiting(now).length > 0) return [{ type: "finish", finishReason: "tool-calls" }];
  const { end } = fold;
  switch (end?.type) {
    case "RunCancelled":
      return [{ type: "abort", reason: end.data.reason }];
    case "RunFailed":
      return failed(end.data.kind);
    case "RunCompleted":
      return [{ type: "finish", finishReason: reasons[end.data.status] }];
    default:
      return [{ type: "finish", finishReason: "other" }];
  }
}

const reasons = { completed: "stop", "calls-open": "tool-calls", incomplete: "length" } as const;

/** The code of a failure, and not its words: the words are for the log, and may name servers that are no business of the page's users. */
const failed = (code: string): readonly UiChunk[] => [
  { type: "error", errorText: `the answer failed: ${code}` },
  { type: "finish", finishReason: "error" },
];

const codeOf = (error: unknown): string => (error instanceof TurnlogError ? String(error.code) : "internal");

/** How a run ended is in the log; what else is thrown, such as that the store is down, is not. */
export const isInLog = (failure: unknown): boolean =>
  failure instanceof RunFailedError || failure instanceof RunCancelledError;
