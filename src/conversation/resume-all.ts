import { type ListedConversation, listConversations } from "../analysis/lists/list.ts";
import { messageOf } from "../base/error-message.ts";
import { checkFunction } from "../base/options.ts";
import type { ConversationId } from "../domain/ids.ts";
import type { RunResult } from "../engine/options/result.ts";
import type { EventStore } from "../log/ports/event-store.ts";
import { knownLifeIn } from "../log/writer/owner.ts";

/** The outcome of one of several resumed runs. */
export type ResumedConversation<Output = unknown> = {
  readonly id: ConversationId;
  /** Null if it could not be resumed; then `error` says why. */
  readonly result: RunResult<Output> | null;
  readonly error: Error | null;
};

export type ResumeAllOptions = {
  /** Return true for the conversations to resume; all when absent. */
  readonly where?: (conversation: ListedConversation) => boolean;
};

type Resuming<Output> = ResumeAllOptions & {
  /** Decides which approvals have expired. */
  readonly clock: () => number;
  readonly resume: (id: ConversationId) => Promise<RunResult<Output> | null>;
};

/** How many runs are resumed at once. */
const maxAtOnce = 8;
const pageSize = 100;

/** Resumes every run that was cut off or parked and does not wait for a person. */
export async function resumeAll<Output>(
  events: EventStore,
  { where = () => true, clock, resume }: Resuming<Output>,
): Promise<readonly ResumedConversation<Output>[]> {
  checkFunction("resumeAll: where", where);
  const waiting: ConversationId[] = [];
  for (let after: string | null | undefined; after !== null; ) {
    const wanted = { limit: pageSize, withHidden: true, state: "cut-off" } as const;
    // A process that replaces another has to wait until the store knows that the other has ended.
    const page = await listConversations(
      events,
      { ...wanted, ...(after === undefined ? {} : { after }) },
      { life: knownLifeIn, clock },
    );
    for (const listed of page.conversations) if (where(listed)) waiting.push(listed.id);
    after = page.next;
  }
  const resumed: ResumedConversation<Output>[] = [];
  const work = async (): Promise<void> => {
    for (let id = waiting.shift(); id !== undefined; id = waiting.shift()) {
      const told = await outcomeOf(id, resume);
      if (told !== null) resumed.push(told);
    }
  };
  await Promise.all(Array.from({ length: maxAtOnce }, work));
  return resumed;
}

/** Null if another process has finished the run meanwhile. */
async function outcomeOf<Output>(
  id: ConversationId,
  resume: Resuming<Output>["resume"],
): Promise<ResumedConversation<Output> | null> {
  try {
    const result = await resume(id);
    return result === null ? null : { id, result, error: null };
  } catch (error) {
    return { id, result: null, error: error instanceof Error ? error : new Error(messageOf(error)) };
  }
}
