import { messageOf } from "../base/error-message.ts";
import { checkFunction } from "../base/options.ts";
import type { ConversationId } from "../domain/ids.ts";
import type { RunResult } from "../engine/stack/result.ts";
import type { EventStore } from "../log/ports/event-store.ts";
import { knownLifeIn } from "../log/writer/owner.ts";
import { type ListedConversation, listConversations } from "./list.ts";

/** What became of a run that was resumed with others. */
export type ResumedConversation<Output = unknown> = {
  readonly id: ConversationId;
  /** Null where it could not go on; then `error` says why. */
  readonly result: RunResult<Output> | null;
  readonly error: Error | null;
};

export type ResumeAllOptions = {
  /** Return true for the conversations whose runs are to go on; all when absent. */
  readonly where?: (conversation: ListedConversation) => boolean;
};

type Resuming<Output> = ResumeAllOptions & {
  readonly resume: (id: ConversationId) => Promise<RunResult<Output> | null>;
};

/** How many runs go on at once. */
const maxAtOnce = 8;
const pageSize = 100;

/** Resumes the run of every conversation that was cut off or parked and waits for no person. */
export async function resumeAll<Output>(
  events: EventStore,
  { where = () => true, resume }: Resuming<Output>,
): Promise<readonly ResumedConversation<Output>[]> {
  checkFunction("resumeAll: where", where);
  const waiting: ConversationId[] = [];
  for (let after: string | null | undefined; after !== null; ) {
    const wanted = { limit: pageSize, withHidden: true, state: "cut-off" } as const;
    // Whoever begins where another process ended has to wait where it takes a while to know that it has.
    const page = await listConversations(events, { ...wanted, ...(after === undefined ? {} : { after }) }, knownLifeIn);
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

/** Null where another process has finished the run meanwhile. */
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
