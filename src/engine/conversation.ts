import { Observable } from "rxjs";
import { sha256Hex } from "../base/sha256.ts";
import type { Actor } from "../domain/actor.ts";
import type { Block } from "../domain/block.ts";
import { blockToJson } from "../domain/block-json.ts";
import type { RecordedEvent } from "../domain/events/recorded.ts";
import { type BlockId, blockIdSchema, type ConversationId } from "../domain/ids.ts";
import { user } from "../domain/make-block.ts";
import type { Turn } from "../domain/turn.ts";
import type { EventLog } from "./codec/event-log.ts";
import type { ConversationStream, Entry } from "./conversation-stream.ts";
import type { Engine } from "./create-engine.ts";
import { followStream } from "./follow.ts";
import { randomId } from "./ids.ts";
import { createPartQueue } from "./part-queue.ts";
import { type PastConversation, readPast } from "./past.ts";
import { readRecorded } from "./recorded.ts";
import type { RunResult } from "./run/result.ts";
import { type RunOptions, runConversation } from "./run/run.ts";
import type { RunPart } from "./stream-part.ts";

/** How a block gets into a conversation. */
export type AppendOptions = {
  /** The same key never appends twice: for messages that may be delivered twice. */
  readonly key?: string;
  readonly actor?: Extract<Actor, { readonly kind: "user" | "app" | "import" }>;
};

/** One conversation: what was said, who changed it, and what the model's server knows of it. */
export class Conversation {
  readonly id: ConversationId;
  readonly #stream: ConversationStream;
  readonly #log: EventLog;

  constructor(id: ConversationId, stream: ConversationStream, log: EventLog) {
    this.id = id;
    this.#stream = stream;
    this.#log = log;
  }

  /**
   * Appends blocks; a text is a user's message. Durable when it resolves. While a run is open they wait for its end.
   * Gives the blocks as recorded.
   */
  async append(content: string | Block | readonly Block[], options: AppendOptions = {}): Promise<readonly Block[]> {
    const drafts = typeof content === "string" ? [user(content)] : [content].flat();
    const actor: Actor = options.actor ?? { kind: "user" };
    const blocks = drafts.map((draft, index) => draft.withId(this.#blockId(options.key, index)));
    await this.commit(
      blocks.map((block) => ({ command: { type: "AppendBlock", data: { block: blockToJson(block) } }, actor })),
    );
    return blocks;
  }

  /** Names the conversation for people; labels are for programs. */
  async relabel(data: { readonly title?: string; readonly labels?: Record<string, string> }): Promise<void> {
    await this.commit([{ command: { type: "Relabel", data }, actor: { kind: "app" } }]);
  }

  /** Runs an engine on the conversation, to the answer. */
  run(engine: Engine, options: Omit<RunOptions, "onPart"> = {}): Promise<RunResult> {
    return runConversation(this.#stream, engine.options, options);
  }

  /** The same run, as it happens. Ending the iteration early aborts it. */
  stream(engine: Engine, options: Omit<RunOptions, "onPart"> = {}): AsyncIterable<RunPart> {
    return createPartQueue((onPart, signal) =>
      runConversation(this.#stream, engine.options, {
        ...options,
        onPart,
        signal: options.signal === undefined ? signal : AbortSignal.any([options.signal, signal]),
      }),
    );
  }

  /** The Turn as it is now: of the last ended run, and what was appended since. */
  async turn(): Promise<Turn> {
    return (await this.#stream.refresh()).client.committed;
  }

  /** The conversation as it was once the event of this revision had happened; -1 is the newest. */
  at(revision: number): Promise<PastConversation> {
    return readPast(this.#log, this.#stream.name, revision);
  }

  /** All events, from a revision on. */
  async *events(from = 0): AsyncIterable<RecordedEvent> {
    for await (const stored of this.#log.read(this.#stream.name, { from, blobs: "resolve" }))
      yield readRecorded(stored);
  }

  /** Every event of the conversation from now on, whoever writes it, once it is durable. */
  readonly changes$: Observable<RecordedEvent> = new Observable((subscriber) => {
    const left = new AbortController();
    const follow = async (): Promise<void> => {
      for await (const recorded of followStream(this.#log, this.#stream, left.signal)) subscriber.next(recorded);
      subscriber.complete();
    };
    follow().catch((error: unknown) => subscriber.error(error));
    return () => left.abort();
  });

  /** Gives commands as they are: what imports and repairs use. */
  async commit(entries: readonly Entry[]): Promise<readonly RecordedEvent[]> {
    const result = await this.#stream.commit(entries);
    if (result.status === "rejected") throw new Error(`refused: ${JSON.stringify(result.rejection)}`);
    return result.events;
  }

  #blockId(key: string | undefined, index: number): BlockId {
    if (key === undefined) return blockIdSchema.parse(randomId("blk"));
    // The number stands first, where no key does: the second block of `a` is not the first one of `a 1`.
    const name = index === 0 ? `${this.id} ${key}` : `${index} ${this.id} ${key}`;
    return blockIdSchema.parse(`blk_${sha256Hex(name).slice(0, 21)}`);
  }
}
