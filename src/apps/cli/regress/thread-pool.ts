import type { ConversationRegression } from "../../../replay/regression/conversation-result.ts";
import { LabThread, ThreadBlockedError } from "./lab-thread.ts";
import type { FromThread, RegressTask, ToThread } from "./messages.ts";

export type PoolOptions = {
  readonly task: RegressTask;
  readonly jobs: number;
  readonly signal: AbortSignal;
  /** Gets what the modules print, which is not part of the command's output. */
  readonly onPrinted: (text: string) => void;
};

/**
 * Compares conversations in threads, and yields them in the order of their ids in the list. A conversation that differs is compared once
 * more in a thread of another date and other random numbers. A conversation in which a layer blocks its thread is unknown, and a new thread
 * goes on with the rest. Ends early when the signal aborts.
 *
 * @throws {UsageError} if a module cannot be loaded, takes longer than the limit for that, or ends its thread.
 */
export async function* compareInThreads(
  ids: readonly string[],
  { task, jobs, signal, onPrinted }: PoolOptions,
): AsyncGenerator<ConversationRegression> {
  const threads: LabThread[] = [];
  const start = (isOtherWorld: boolean): LabThread => {
    const thread = new LabThread({ ...task, isOtherWorld }, onPrinted);
    threads.push(thread);
    return thread;
  };
  const ended = whenAborted(signal);
  try {
    const free = Array.from({ length: Math.min(jobs, ids.length) }, () => start(false));
    let other: LabThread | null = null;
    await Promise.race([Promise.all(free.map((thread) => thread.ready)), ended]);
    const compare = async (thread: LabThread, id: string): Promise<ConversationRegression> => {
      const compared = await answerOf(thread, { kind: "compare", id });
      const known = compared.kind === "blocked" ? await finalOf(thread, { ...compared, id }) : null;
      free.push(thread);
      fill();
      if (known !== null) return known;
      if (compared.kind !== "result") throw new Error(otherAnswer);
      const { result, traces } = compared.compared;
      if (traces.length === 0) return result;
      other ??= start(true);
      const again = await answerOf(other, { kind: "again", id, found: compared.compared });
      if (again.kind === "final") return again.result;
      if (again.kind !== "blocked") throw new Error(otherAnswer);
      return { ...result, message: `it was not executed a second time: ${again.message}` };
    };
    const underWay: Promise<ConversationRegression>[] = [];
    let next = 0;
    const fill = (): void => {
      for (let thread = free.pop(); thread !== undefined; thread = free.pop()) {
        const id = ids[next];
        if (id === undefined || underWay.length >= 4 * jobs) {
          free.push(thread);
          return;
        }
        next += 1;
        // What fails is thrown where its turn comes.
        const comparing = compare(thread, id);
        comparing.catch(() => undefined);
        underWay.push(comparing);
      }
    };
    fill();
    for (let first = underWay.shift(); first !== undefined; first = underWay.shift()) {
      const result = await Promise.race([first, ended]);
      if (result === null) return;
      fill();
      yield result;
    }
  } finally {
    await Promise.all(threads.map((thread) => thread.end()));
  }
}

type Answer = FromThread | { readonly kind: "blocked"; readonly message: string };

/** The thread's answer, or that a layer blocked the thread. */
async function answerOf(thread: LabThread, asked: ToThread): Promise<Answer> {
  try {
    return await thread.ask(asked);
  } catch (error) {
    if (error instanceof ThreadBlockedError) return { kind: "blocked", message: error.message };
    throw error;
  }
}

async function finalOf(thread: LabThread, asked: ToThread): Promise<ConversationRegression> {
  const answer = await thread.ask(asked);
  if (answer.kind !== "final") throw new Error(otherAnswer);
  return answer.result;
}

const otherAnswer = "a thread gave another answer than it was asked for";

const whenAborted = (signal: AbortSignal): Promise<null> =>
  new Promise((resolve) => {
    const end = (): void => {
      resolve(null);
    };
    if (signal.aborted) end();
    else signal.addEventListener("abort", end, { once: true });
  });
