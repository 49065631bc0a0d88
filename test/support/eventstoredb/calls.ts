/** A call that has begun: what was asked, by whom. */
export interface SeenCall {
  readonly operation: string;
  readonly stream: string;
  /** Appends: which of the client's two ways. */
  readonly path?: "batch" | "classic";
  readonly requiresLeader: boolean;
  /** Null for the anonymous, and on an insecure server. */
  readonly user: string | null;
}

/** A call that has not ended. `batch` is a client's one shared stream of appends: it stays open while the client lives. */
export interface OpenCall {
  readonly operation: "read" | "subscribe" | "append" | "batch" | "delete";
  readonly stream: string;
  /** Events handed to the transport: stands still while the reader is slow. */
  readonly eventsSent: number;
}

interface Tracked {
  readonly operation: OpenCall["operation"];
  readonly stream: string;
  eventsSent: number;
}

/** A handler's hold on its own open call. */
export interface CallHandle {
  sent(): void;
  close(): void;
}

/** What is going on at a node, and what went on: the leak check of tests. */
export class Calls {
  readonly #open = new Set<Tracked>();
  readonly #waiting = new Set<() => void>();
  #seen: SeenCall[] = [];

  note(call: SeenCall): void {
    this.#seen.push(call);
  }

  seen(): readonly SeenCall[] {
    return [...this.#seen];
  }

  forgetSeen(): void {
    this.#seen = [];
  }

  open(operation: OpenCall["operation"], stream: string): CallHandle {
    const call: Tracked = { operation, stream, eventsSent: 0 };
    this.#open.add(call);
    this.#tell();
    return {
      sent: () => {
        call.eventsSent += 1;
        this.#tell();
      },
      close: () => {
        this.#open.delete(call);
        this.#tell();
      },
    };
  }

  list(): readonly OpenCall[] {
    return [...this.#open].map((call) => ({ ...call }));
  }

  /**
   * Settles once the open calls satisfy the condition.
   *
   * @throws {Error} that lists the open calls, when they do not within `timeoutMs`.
   */
  async until(holds: (calls: readonly OpenCall[]) => boolean, timeoutMs: number): Promise<void> {
    const reached = Promise.withResolvers<undefined>();
    const look = (): void => {
      if (holds(this.list())) reached.resolve(undefined);
    };
    const timer = setTimeout(() => {
      const calls = this.list().map((call) => `${call.operation} ${call.stream} (${call.eventsSent} sent)`);
      reached.reject(new Error(`Still open after ${timeoutMs} ms: ${calls.join(", ") || "nothing"}.`));
    }, timeoutMs);
    this.#waiting.add(look);
    look();
    try {
      await reached.promise;
    } finally {
      clearTimeout(timer);
      this.#waiting.delete(look);
    }
  }

  #tell(): void {
    for (const look of [...this.#waiting]) look();
  }
}
