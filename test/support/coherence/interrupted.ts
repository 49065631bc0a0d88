import type { Conversation } from "../../../src/conversation/conversation.ts";
import type { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import type { RecordedEvent } from "../../../src/domain/events/recorded.ts";
import { conversationStream } from "../../../src/domain/ids.ts";
import type { EventLog } from "../../../src/log/codec/event-log.ts";
import { readSoundHistory } from "../../../src/log/history/folded-history.ts";
import { readHistory } from "../../../src/log/history/lineage.ts";

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

/** Reads what the log says of interruptions, again and again: of a conversation that it has read before, only what is new. */
export class InterruptionReader {
  readonly #log: EventLog;
  #stream: string | null = null;
  #fold = new InterruptionFold();
  /** The first revision of the stream that was not read yet. */
  #next = 0;

  constructor({ log }: TurnlogStore) {
    this.#log = log;
  }

  /** @param hasSkips - Events that were read before may be skipped by now, so that all are read again. */
  async of({ id }: Conversation, { hasSkips }: { readonly hasSkips: boolean }): Promise<Interruptions> {
    const stream = conversationStream(id);
    if (stream !== this.#stream || hasSkips) {
      this.#stream = stream;
      this.#fold = new InterruptionFold();
      this.#next = 0;
    }
    const history =
      this.#next === 0
        ? readSoundHistory(this.#log, stream)
        : readHistory(this.#log, stream, { from: this.#next, own: true });
    for await (const recorded of history) {
      this.#fold.take(recorded);
      if (recorded.stream === stream) this.#next = recorded.revision + 1;
    }
    return this.#fold.found();
  }
}

/**
 * Folds anew what docs/RUNS.md promises: the engine tells the model once that the newest run broke off after a request that was not
 * refused. It does not after a revert, nor after a run that completed.
 */
class InterruptionFold {
  readonly #notes: string[] = [];
  readonly #heard = new Set<string>();
  #due: string | null = null;
  #open: string | null = null;
  #isSkipped = false;

  found(): Interruptions {
    return { due: this.#due, isSkipped: this.#isSkipped, notes: [...this.#notes] };
  }

  take({ event, actor, runId }: RecordedEvent): void {
    switch (event.type) {
      case "InferenceRequested":
        this.#heard.add(event.data.inferenceId);
        break;
      case "InferenceFailed":
        if (event.data.outcome === "rejected") this.#heard.delete(event.data.inferenceId);
        break;
      case "RunFailed":
      case "RunCancelled":
        if (this.#heard.size > 0) this.#due = told[event.type];
        break;
      // A fork from the middle of a run leaves that run as if it had been cancelled there.
      case "ConversationStarted":
        if (this.#open !== null && this.#heard.size > 0) this.#due = told.RunCancelled;
        break;
      // So does the skip of an event of the run.
      case "EventSkipped":
        this.#isSkipped ||= this.#open !== null && this.#open === runId && this.#heard.size > 0;
        if (this.#open === runId) this.#open = null;
        break;
      case "RunCompleted":
      case "TurnReverted":
        this.#due = null;
        this.#isSkipped = false;
        break;
      case "BlockAppended":
        if (actor.kind !== "engine") break;
        this.#due = null;
        this.#isSkipped = false;
        this.#notes.push(JSON.stringify(event.data.block));
        break;
      default:
    }
    if (event.type === "RunStarted") this.#heard.clear();
    if (event.type === "RunStarted") this.#open = runId;
    else if (endsRun.has(event.type)) this.#open = null;
  }
}

const endsRun: ReadonlySet<string> = new Set(["RunCompleted", "RunFailed", "RunCancelled", "ConversationStarted"]);
