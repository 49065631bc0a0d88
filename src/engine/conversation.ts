import { Observable } from "rxjs";
import { sha256Hex } from "../base/sha256.ts";
import type { Actor } from "../domain/actor.ts";
import { type Block, idOf } from "../domain/block.ts";
import { blockFromJson, blockToJson } from "../domain/block-json.ts";
import type { Origin } from "../domain/events/conversation-events.ts";
import type { RecordedEvent } from "../domain/events/recorded.ts";
import type { Settlement } from "../domain/events/tool-events.ts";
import { type BlockId, blockIdSchema, type ConversationId } from "../domain/ids.ts";
import { user } from "../domain/make-block.ts";
import type { Turn } from "../domain/turn.ts";
import type { EventLog } from "./codec/event-log.ts";
import type { ConversationStream, Entry } from "./conversation-stream.ts";
import type { Engine } from "./create-engine.ts";
import { skipEvent } from "./damage/skip-event.ts";
import { skippedIn } from "./damage/skipped-in.ts";
import { recordableSettlement } from "./effects/doubt.ts";
import { followStream } from "./follow.ts";
import { ConversationExistsError, forkOrigin } from "./lineage/fork.ts";
import { readHistory } from "./lineage/lineage.ts";
import { ExchangeNotFoundError, revertTurn } from "./lineage/revert.ts";
import { createPartQueue } from "./part-queue.ts";
import { type PastConversation, readPast } from "./past.ts";
import { readRecorded } from "./recorded.ts";
import { type RunOptions, resumeConversation, runConversation } from "./run/begin.ts";
import type { RunResult } from "./run/result.ts";
import { type Stepping, stepThrough } from "./run/stepping.ts";
import type { RunPart } from "./stream-part.ts";
import type { ToolContext } from "./tool.ts";

/** How a block gets into a conversation. */
export type AppendOptions = {
  /** The same key never appends twice: for messages that may be delivered twice. */
  readonly key?: string;
  readonly actor?: Extract<Actor, { readonly kind: "user" | "app" | "import" }>;
};

/** Nothing of this id waits to be settled: it never began, it is known how it ended, or it was settled before. */
export class NotInDoubtError extends Error {
  override readonly name = "NotInDoubtError";
  readonly code = "not-in-doubt";

  constructor(blockId: string) {
    super(`${blockId} is not in doubt; resume the run to see what is`);
  }
}

/** Who forks or reverts. */
type ByWhom = { readonly actor?: Extract<Actor, { readonly kind: "user" | "app" | "operator" }> };

/** What a conversation needs of the store that it is in. */
type Conversations = {
  readonly log: EventLog;
  readonly newId: (prefix: "cnv" | "blk") => string;
  readonly conversation: (id?: string) => Conversation;
};

/** One conversation: what was said, who changed it, and what the model's server knows of it. */
export class Conversation {
  readonly id: ConversationId;
  readonly #stream: ConversationStream;
  readonly #log: EventLog;
  readonly #others: Conversations;

  constructor(id: ConversationId, stream: ConversationStream, others: Conversations) {
    this.id = id;
    this.#stream = stream;
    this.#log = others.log;
    this.#others = others;
  }

  /**
   * Appends blocks; a text is a user's message. Durable when it resolves. While a run is open they wait for its end.
   * Gives the blocks as recorded.
   */
  async append(content: string | Block | readonly Block[], options: AppendOptions = {}): Promise<readonly Block[]> {
    const drafts = typeof content === "string" ? [user(content)] : [content].flat();
    const actor: Actor = options.actor ?? { kind: "user" };
    const blocks = drafts.map((draft, index) => draft.withId(this.#blockId(options.key, index)));
    const written = await this.commit(
      blocks.map((block) => ({ command: { type: "AppendBlock", data: { block: blockToJson(block) } }, actor })),
    );
    // A key that was used before names what was said then.
    const isNew = new Set(written.map(({ event }) => (event.type === "BlockAppended" ? event.data.block.id : null)));
    return Promise.all(blocks.map(async (block) => (isNew.has(idOf(block)) ? block : this.#appendedBefore(block))));
  }

  /** Names the conversation for people; labels are for programs. */
  async relabel(data: { readonly title?: string; readonly labels?: Record<string, string> }): Promise<void> {
    await this.commit([{ command: { type: "Relabel", data }, actor: { kind: "app" } }]);
  }

  /** Runs an engine on the conversation, to the answer. */
  run(engine: Engine, options: Omit<RunOptions, "onPart"> = {}): Promise<RunResult> {
    return runConversation(this.#stream, engine.options, options);
  }

  /**
   * Finishes a run that was cut off; null where there is none. It appends nothing of its own: who wants to say more says it
   * and runs.
   */
  resume(engine: Engine, options: Omit<RunOptions, "onPart" | "unfinished"> = {}): Promise<RunResult | null> {
    return resumeConversation(this.#stream, engine.options, options);
  }

  /**
   * Says what became of a call, or an effect of a layer, that a crash left in doubt; the next run goes on with it.
   *
   * @throws {NotInDoubtError} when nothing of that id waits to be settled.
   * @throws {TypeError} when the output is no JSON.
   */
  async settle(blockId: string, settlement: Settlement, actor: Actor = { kind: "operator" }): Promise<void> {
    const { run } = (await this.#stream.refresh()).client;
    const id = blockIdSchema.safeParse(blockId);
    if (run === null || !id.success) throw new NotInDoubtError(blockId);
    const data = { blockId: id.data, settlement: recordableSettlement(settlement, blockId) };
    const command = { type: "SettleTool", runId: run.id, data } as const;
    const { status } = await this.#stream.commit([{ command, actor, runId: run.id }]);
    if (status === "rejected") throw new NotInDoubtError(blockId);
  }

  /**
   * The same run, held before and after every durable write, request, tool call and effect, for a test or a person to look,
   * to inject an answer, to append a message, or to leave it as a crash would. Going on with the iteration lets it go on.
   */
  step(engine: Engine, options: Omit<RunOptions, "gate"> = {}): Stepping {
    return stepThrough((gate) => runConversation(this.#stream, engine.options, { ...options, gate }));
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
    return (await this.#stream.refresh()).client.committed.frozen();
  }

  /** The conversation as it was once the event of this revision had happened; -1 is the newest. */
  at(revision: number): Promise<PastConversation> {
    return readPast(this.#log, this.#stream.name, revision);
  }

  /**
   * A new conversation that goes on from a revision of this one, by default from its newest: one event, and nothing is
   * copied. Where a run is open there, the fork has what would be left had it been cancelled. This one is untouched.
   *
   * @throws {RevisionNotFoundError} when there is no such revision.
   * @throws {ConversationDamagedError} when this conversation is damaged up to there.
   * @throws {ConversationExistsError} when `id` is that of another conversation; the same fork again is harmless.
   */
  async fork(revision = -1, { id, actor = { kind: "user" } }: ByWhom & { readonly id?: string } = {}) {
    const fork = this.#others.conversation(id);
    await fork.#startFrom(await forkOrigin(this.#log, this.id, revision), actor);
    return fork;
  }

  /**
   * The conversation of a subagent that a tool call opens, by the tool's context: linked to the call, with a history of its
   * own. The same call and name give the same conversation, so that a tool that runs again finds it.
   */
  async child(name: string, { runId, blockId }: Pick<ToolContext, "runId" | "blockId">): Promise<Conversation> {
    const child = this.#others.conversation(`cnv_${sha256Hex(`${this.id} ${blockId} ${name}`).slice(0, 21)}`);
    await child.#startFrom({ type: "child", conversationId: this.id, runId, blockId }, { kind: "app" }, name);
    return child;
  }

  /**
   * Makes the Turn what it was at a revision; an open run there does not count. What came since stays in the log.
   *
   * @throws {RevisionNotFoundError} when there is no such revision.
   * @throws {RunInProgressError} while a run is open now.
   */
  async revertTo(revision: number, { actor = { kind: "user" } }: ByWhom = {}): Promise<Turn> {
    const past = await this.at(revision);
    const turn = await past.content();
    return revertTurn(this.#stream, { target: () => turn, toRevision: past.revision, actor });
  }

  /**
   * Ends the Turn with its n-th exchange, from 0, or counted from the end when negative: what was said after it stays in
   * the log.
   *
   * @throws {ExchangeNotFoundError} when there is no such exchange.
   * @throws {RunInProgressError} while a run is open.
   */
  revertToExchange(n: number, { actor = { kind: "user" } }: ByWhom = {}): Promise<Turn> {
    const target = (turn: Turn): Turn => {
      const exchange = turn.exchange(n);
      if (exchange === undefined) throw new ExchangeNotFoundError(n, turn.exchanges.length);
      return turn.slice(exchange.end);
    };
    return revertTurn(this.#stream, { target, toRevision: null, actor });
  }

  /**
   * Lets everything that decides go on without a damaged event, which an operator has looked at; views show it still.
   *
   * @throws {EventNotDamagedError} when the first damage is elsewhere, or there is none.
   */
  skipEvent(revision: number, reason: string, actor: Actor = { kind: "operator" }): Promise<void> {
    return skipEvent(this.#log, this.#stream.name, { revision, reason, actor });
  }

  /**
   * What the conversation is read as, up to a revision: of a fork the events of its ancestors come first, under their own
   * streams and revisions. What is damaged and was skipped is left out.
   */
  async *history(to?: number): AsyncIterable<RecordedEvent> {
    const skipped = await skippedIn(this.#log, this.#stream.name, to);
    for await (const { recorded } of readHistory(this.#log, this.#stream.name, { to, skipped })) yield recorded;
  }

  /** The events of its own stream, from a revision on. */
  events(from = 0): AsyncIterable<RecordedEvent> {
    return this.#stream.read(from);
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
    if (result.status === "rejected" && result.rejection.code === "conversation-exists")
      throw new ConversationExistsError(this.id);
    if (result.status === "rejected") throw new Error(`refused: ${JSON.stringify(result.rejection)}`);
    return result.events;
  }

  async #startFrom(origin: Origin, actor: Actor, title?: string): Promise<void> {
    const data = { origin, ...(title === undefined ? {} : { title }) };
    await this.commit([{ command: { type: "StartConversation", data }, actor }]);
  }

  /** The block that was appended under the id of this one. */
  async #appendedBefore(block: Block): Promise<Block> {
    const made = this.#stream.view.client.blame.get(idOf(block))?.made;
    if (made === undefined) return block;
    const { stream, revision } = made;
    for await (const stored of this.#log.read(stream, { from: revision, to: revision, blobs: "resolve" })) {
      const { event } = readRecorded(stored);
      if (event.type === "BlockAppended") return blockFromJson(event.data.block);
    }
    return block;
  }

  #blockId(key: string | undefined, index: number): BlockId {
    if (key === undefined) return blockIdSchema.parse(this.#others.newId("blk"));
    // The number stands first, where no key does: the second block of `a` is not the first one of `a 1`.
    const name = index === 0 ? `${this.id} ${key}` : `${index} ${this.id} ${key}`;
    return blockIdSchema.parse(`blk_${sha256Hex(name).slice(0, 21)}`);
  }
}
