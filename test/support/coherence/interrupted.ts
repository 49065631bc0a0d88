import type { Conversation } from "../../../src/conversation/conversation.ts";

/** The notes for the model about a run that was cancelled, and about one that failed, unless the engine has its own (docs/RUNS.md). */
const told = {
  RunCancelled: "[Your last answer was interrupted before it was finished. It is not part of this conversation.]",
  RunFailed: "[Your last answer was cut off by an error before it was finished. It is not part of this conversation.]",
} as const;

export const interruptions: readonly string[] = Object.values(told);

/** What the log says of interruptions: of which one the next run has to tell the model, and what the engine has told it so far. */
export type Interruptions = {
  readonly due: string | null;
  /** It broke off because an event of the run was skipped: whether the model was told of that run before, its events need not say any more. */
  readonly isSkipped: boolean;
  readonly notes: readonly string[];
};

/**
 * Folded anew from what docs/RUNS.md promises: of the newest run that broke off when a model had been asked that did not refuse, once,
 * and neither after a revert nor after a run that completed.
 */
export async function interruptionsOf(conversation: Conversation): Promise<Interruptions> {
  const notes: string[] = [];
  const heard = new Set<string>();
  let due: string | null = null;
  let open: string | null = null;
  let isSkipped = false;
  for await (const { event, actor, runId } of conversation.history()) {
    switch (event.type) {
      case "InferenceRequested":
        heard.add(event.data.inferenceId);
        break;
      case "InferenceFailed":
        if (event.data.outcome === "rejected") heard.delete(event.data.inferenceId);
        break;
      case "RunFailed":
      case "RunCancelled":
        if (heard.size > 0) due = told[event.type];
        break;
      // A fork from the middle of a run leaves that run as if it had been cancelled there.
      case "ConversationStarted":
        if (open !== null && heard.size > 0) due = told.RunCancelled;
        break;
      // So does the skip of an event of the run.
      case "EventSkipped":
        isSkipped ||= open !== null && open === runId && heard.size > 0;
        if (open === runId) open = null;
        break;
      case "RunCompleted":
      case "TurnReverted":
        due = null;
        isSkipped = false;
        break;
      case "BlockAppended":
        if (actor.kind !== "engine") break;
        due = null;
        isSkipped = false;
        notes.push(JSON.stringify(event.data.block));
        break;
      default:
    }
    if (event.type === "RunStarted") heard.clear();
    if (event.type === "RunStarted") open = runId;
    else if (endsRun.has(event.type)) open = null;
  }
  return { due, isSkipped, notes };
}

const endsRun: ReadonlySet<string> = new Set(["RunCompleted", "RunFailed", "RunCancelled", "ConversationStarted"]);
