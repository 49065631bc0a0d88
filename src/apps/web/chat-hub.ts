import type { Conversation } from "../../conversation/conversation.ts";
import type { RunPart } from "../../engine/options/run-part.ts";
import { RunInProgressError } from "../../log/writer/owner.ts";
import { ChatWatch } from "./chat-watch.ts";
import type { LiveChannel } from "./live-channel.ts";

/** Work of this process on a conversation: it goes on without readers, and never throws. */
export type Activity = {
  readonly isOver: boolean;
  /** Resolves when it is over. */
  readonly over: Promise<null>;
  /** What it failed with; null while it goes on, and if it did not fail. */
  readonly failure: unknown;
};

/** The work on an answer that is complete. */
export const nothingLeft: Activity = { isOver: true, over: Promise.resolve(null), failure: null };

type Running = {
  readonly parts: () => AsyncIterable<RunPart>;
  /** Whether it only goes on with the run that is open, and does nothing once another process has ended that. */
  readonly isResumption: boolean;
};

/** A conversation that is watched until the lease is left. */
export type Watching = Disposable & { readonly watch: ChatWatch };

/** How many conversations that no page watches stay in memory. */
const mostHeld = 16;
/** How often a process asks again for a conversation that another one runs: its owner may have died. */
const askAgainMs = 1_000;

/** What all pages of a process share: one watch and one line of work for each conversation. */
export class ChatHub {
  readonly #channel: LiveChannel | null;
  /** The one that was watched last comes last. */
  readonly #watches = new Map<string, ChatWatch>();
  readonly #activities = new Map<string, Activity>();

  constructor(channel: LiveChannel | null) {
    this.#channel = channel;
  }

  watch(conversation: Conversation): Watching {
    const { id } = conversation;
    const known = this.#watches.get(id);
    const watch = known === undefined || known.isFailed ? new ChatWatch(conversation, this.#channel) : known;
    this.#watches.delete(id);
    this.#watches.set(id, watch);
    watch.enter();
    const state = { isLeft: false };
    return {
      watch,
      [Symbol.dispose]: () => {
        if (state.isLeft) return;
        state.isLeft = true;
        watch.leave();
        this.#forgetOldest();
      },
    };
  }

  /** The newest work on a conversation that is not over; null if there is none. */
  activity(id: string): Activity | null {
    const newest = this.#activities.get(id);
    return newest === undefined || newest.isOver ? null : newest;
  }

  /** Runs a conversation, with or without readers. If another process runs it, waits for that to end first. */
  run(conversation: Conversation, running: Running): Activity {
    const { id } = conversation;
    const watching = this.watch(conversation);
    const { watch } = watching;
    const state: { isOver: boolean; failure: unknown } = { isOver: false, failure: null };
    watch.begin();
    const work = async (): Promise<null> => {
      try {
        await runInTurn(watch, running);
      } catch (error) {
        state.failure = error;
      } finally {
        state.isOver = true;
        watch.end();
        watching[Symbol.dispose]();
        if (this.#activities.get(id) === activity) this.#activities.delete(id);
      }
      return null;
    };
    const activity: Activity = {
      over: Promise.resolve().then(work),
      get isOver() {
        return state.isOver;
      },
      get failure() {
        return state.failure;
      },
    };
    this.#activities.set(id, activity);
    return activity;
  }

  #forgetOldest(): void {
    const idle = [...this.#watches].filter(([, watch]) => !watch.isWatched);
    for (const [id] of idle.slice(0, Math.max(0, idle.length - mostHeld))) this.#watches.delete(id);
  }
}

async function runInTurn(watch: ChatWatch, { parts, isResumption }: Running): Promise<void> {
  for (;;) {
    try {
      for await (const part of parts()) watch.take(part);
      return;
    } catch (error) {
      if (!(error instanceof RunInProgressError)) throw error;
      await watch.upToNow();
      // Until the log says that the run has ended, or it is time to ask again whether its owner lives.
      await watch.until(() => watch.fold.run?.id !== error.runId || watch.fold.run.owner === null, askAgainMs);
      if (isResumption && watch.fold.run?.id !== error.runId) return;
    }
  }
}
