import { checkText } from "../base/options.ts";
import { TurnlogError } from "../base/turnlog-error.ts";
import type { Actor } from "../domain/actor.ts";
import type { BlockNames } from "../domain/block-names.ts";
import { type AppendInput, draftsOf } from "../domain/chat-message.ts";
import { hiddenLabel } from "../domain/decider/labels.ts";
import type { ConversationOrigin } from "../domain/events/conversation-events.ts";
import type { ProposedEvent, RecordedEvent } from "../domain/events/recorded.ts";
import { type BlockId, blockIdSchema, type ConversationId, keyedBlockId, namedIdText } from "../domain/ids.ts";
import type { Turn } from "../domain/turn.ts";
import { isWindow, type ServerWindow, takeWindow } from "../engine/compaction/server-window.ts";
import { compactTurn } from "../engine/compaction/without-model.ts";
import type { CompactOptions } from "../engine/options/compact-policy.ts";
import type { AnyEngine, Engine } from "../engine/options/engine.ts";
import type { RunResult } from "../engine/options/result.ts";
import type { Provider } from "../engine/ports/provider.ts";
import type { ToolContext } from "../engine/ports/tool.ts";
import { summariseConversation } from "../engine/run/begin.ts";
import { checkedRun, type SummariseOptions, type WithContext } from "../engine/run/run-options.ts";
import { randomId } from "../log/codec/ids.ts";
import type { ConversationWriter } from "../log/writer/conversation-writer.ts";
import { forkOrigin } from "../log/writer/fork.ts";
import { changeTurn, exchangeNotFound, reverted } from "../log/writer/revert.ts";
import { type SkipOutcome, skipEvent } from "../log/writer/skip-event.ts";
import { appendBlocks } from "./append-blocks.ts";
import { commit } from "./commit.ts";
import {
  type ActorOption,
  type Appended,
  type AppendOptions,
  type ConversationLabels,
  checkedAppend,
  checkedByWhom,
  checkedLabels,
  forkOptions,
  revertOptions,
  skipOptions,
} from "./conversation-options.ts";
import type { DeletedStored, DeleteStoredOptions } from "./delete-stored.ts";
import type { ReadingTools } from "./readable-conversation.ts";
import { reasoningReset } from "./reasoning-reset.ts";
import { RunnableConversation } from "./runnable-conversation.ts";

/** The parts of its store that a conversation needs. */
type Conversations = Omit<ReadingTools, "stream"> & {
  readonly newId: (prefix: "cnv" | "blk") => string;
  readonly conversation: (id?: string) => Conversation;
};

/** One conversation: its messages, who changed them, and what the model's server holds of it. */
export class Conversation extends RunnableConversation {
  readonly #stream: ConversationWriter;
  readonly #others: Conversations;

  constructor(id: ConversationId, stream: ConversationWriter, others: Conversations) {
    super(id, { ...others, stream });
    this.#stream = stream;
    this.#others = others;
  }

  /**
   * Appends blocks, or messages as chat APIs have them (`{ role, content }`); a text is a user's message. Durable when it resolves.
   * While a run is open, the blocks wait for its end. With a key, you may call it again for the same message: that appends nothing, and
   * returns the first blocks. A tool result must answer an open call: one for which the Turn holds no result, however long ago it was
   * made, and whatever was said since.
   *
   * @throws {TurnlogError} `key-reused` if another message was appended under the key.
   * @throws {TurnlogError} `no-open-call` for a tool result that answers no open call.
   * @throws {TypeError} if the content has another type, the key is empty, or callers may not be the actor.
   */
  async append(content: AppendInput | readonly AppendInput[], options: AppendOptions = {}): Promise<Appended> {
    const drafts = draftsOf(content);
    const { actor } = checkedAppend(options);
    const { key } = options;
    return appendBlocks(
      this.#stream,
      drafts.map((draft, index) => draft.withId(this.#blockId(key, index))),
      {
        actor,
        keyed: key === undefined ? null : { key, beyond: this.#blockId(key, drafts.length) },
        isIdNew: key === undefined && this.#others.newId === randomId,
      },
    );
  }

  /** Sets a title for people and labels for programs; null removes a label. */
  async relabel(data: ConversationLabels, byWhom: ActorOption = {}): Promise<void> {
    const actor = checkedByWhom("relabel", { actor: { kind: "app" }, ...byWhom });
    await this[commit]([{ event: { type: "ConversationRelabelled", version: 1, data: checkedLabels(data) }, actor }]);
  }

  /** Removes the conversation from lists. It can be read, run and found as before, and `unhide` lists it again. */
  async hide(byWhom: ActorOption = {}): Promise<void> {
    await this.relabel({ labels: { [hiddenLabel]: "true" } }, byWhom);
  }

  async unhide(byWhom: ActorOption = {}): Promise<void> {
    await this.relabel({ labels: { [hiddenLabel]: null } }, byWhom);
  }

  /**
   * Returns a new conversation that continues from a revision of this one, by default from its newest: one event, without copying. If a
   * run is open there, the fork has the Turn that cancelling the run would leave. This conversation does not change.
   *
   * @throws {TurnlogError} `revision-not-found` if there is no such revision.
   * @throws {ConversationDamagedError} if this conversation is damaged up to there.
   * @throws {TurnlogError} `conversation-exists` if `id` belongs to another conversation; repeating the same fork is harmless.
   */
  async fork(revision = -1, options: ActorOption & { readonly id?: string } = {}) {
    const actor = checkedByWhom("fork", options, forkOptions);
    const fork = this.#others.conversation(options.id);
    await fork.#startFrom(await forkOrigin(this.log, this.id, revision), actor);
    return fork;
  }

  /**
   * Opens the conversation of a subagent from a tool's context: linked to the tool call, with its own history. The same call and name
   * give the same conversation, so a tool that runs again finds it.
   */
  async child(name: string, { runId, blockId }: Pick<ToolContext, "runId" | "blockId">): Promise<Conversation> {
    const child = this.#others.conversation(`cnv_${namedIdText(`${this.id} ${blockId} ${name}`)}`);
    await child.#startFrom({ type: "child", conversationId: this.id, runId, blockId }, { kind: "app" }, name);
    return child;
  }

  /**
   * Sets the Turn back to a revision, ignoring a run that was open there. Later events stay in the log.
   *
   * @throws {TurnlogError} `revision-not-found` if there is no such revision.
   * @throws {RunInProgressError} while a run is open now.
   */
  async revertTo(revision: number, byWhom: ActorOption = {}): Promise<Turn> {
    const actor = checkedByWhom("revertTo", byWhom);
    const past = await this.at(revision);
    const turn = await past.content();
    return changeTurn(this.#stream, { target: () => turn, event: reverted(past.revision), actor });
  }

  /**
   * Ends the Turn with its n-th exchange, from 0; a negative number counts from the end. Later messages stay in the log.
   *
   * @throws {TurnlogError} `exchange-not-found` if there is no such exchange.
   * @throws {RunInProgressError} while a run is open.
   */
  async revertToExchange(n: number, byWhom: ActorOption = {}): Promise<Turn> {
    const actor = checkedByWhom("revertToExchange", byWhom);
    const target = (turn: Turn): Turn => {
      const exchange = turn.exchange(n);
      if (exchange === undefined) throw exchangeNotFound(n, turn.exchanges.length);
      return turn.slice(exchange.end);
    };
    return changeTurn(this.#stream, { target, event: reverted(null), actor });
  }

  /**
   * Ends the Turn with a block, or before it. Later messages stay in the log. Ending it with a user's message asks for another answer to it.
   *
   * @throws {TurnlogError} `message-not-found` if the Turn has no such block.
   * @throws {RunInProgressError} while a run is open.
   */
  async revertToBlock(id: string, options: ActorOption & { readonly before?: boolean } = {}): Promise<Turn> {
    const { before = false } = options;
    const actor = checkedByWhom("revertToBlock", options, revertOptions);
    const target = (turn: Turn): Turn => {
      const index = turn.blocks.findIndex((block) => block.id === id);
      if (index < 0)
        throw new TurnlogError(
          "message-not-found",
          `revertToBlock: the Turn has no block ${id}: give the id of one of its blocks`,
        );
      return turn.slice(before ? index : index + 1);
    };
    return changeTurn(this.#stream, { target, event: reverted(null), actor });
  }

  /**
   * Shortens the Turn between two runs, without a model: cuts tool results, or leaves out the oldest exchanges. Blocks stay readable at
   * earlier revisions, a call keeps its result, and answered messages stay answered. Returns the Turn, and writes nothing if there is
   * nothing to shorten.
   *
   * @throws {RunInProgressError} while a run is open.
   * @throws {TypeError | RangeError} if an option is unknown or invalid.
   */
  compact(options?: CompactOptions): Promise<Turn>;
  /**
   * Lets an engine's model summarise the oldest exchanges, in a run that asks for nothing else: its layers see the model's input, the
   * result has the cost, and after a crash the next run resumes it. A run that was cut off is finished first. Null if there is nothing
   * to summarise.
   *
   * @throws {RunInProgressError} while a living process runs the conversation.
   * @throws {RunUnfinishedError} while a run waits for someone to settle a call or effect in doubt.
   * @throws {RunFailedError} if the model gave no summary: the Turn is as it was.
   * @throws {RunCancelledError} when the signal aborted.
   * @throws {TypeError | RangeError} if `engine` is not an engine, or an option is unknown or invalid.
   */
  compact<Context>(
    engine: Engine<Context, unknown>,
    ...options: WithContext<Context, SummariseOptions<Context>>
  ): Promise<RunResult | null>;
  /**
   * Replaces a response and all before it with the server's compaction of them (`provider.compact`), between two runs. Later blocks stay
   * behind it, and the next request begins a new chain with it.
   *
   * @throws {RunInProgressError} while a run is open.
   * @throws {TurnlogError} `window-outdated` if the Turn does not begin with what the window was made of.
   * @throws {TypeError} if `window` is not a window.
   */
  compact(window: ServerWindow): Promise<Turn>;
  async compact(
    first: CompactOptions | AnyEngine | ServerWindow = {},
    second: SummariseOptions = {},
  ): Promise<Turn | RunResult | null> {
    if (isWindow(first)) return takeWindow(this.#stream, { ...first, newId: () => this.#blockId(undefined, 0) });
    if ("options" in first) return summariseConversation(this.#stream, ...checkedRun("compact", first, second));
    return compactTurn(this.#stream, first);
  }

  /**
   * Stops later requests from carrying the reasoning of the Turn, or continuing from it. Its blocks stay as they are. Returns the ids of
   * the blocks that are not sent any more.
   */
  async resetReasoning(byWhom: ActorOption = {}): Promise<readonly BlockId[]> {
    const actor = checkedByWhom("resetReasoning", { actor: { kind: "app" }, ...byWhom });
    const { blockIds, events } = reasoningReset(await this.turn());
    if (events.length > 0) await this[commit](events.map((event) => ({ event, actor })));
    return blockIds;
  }

  /**
   * Lets every decision continue without a damaged event, which an operator has looked at; views still show it. Returns the
   * next damage: often events that follow from the skipped one, which `allThatFollow` skips too.
   *
   * @throws {TurnlogError} `event-not-damaged` if the first damage is elsewhere, or there is none.
   */
  async skipEvent(
    revision: number,
    reason: string,
    options: ActorOption & { readonly allThatFollow?: boolean } = {},
  ): Promise<SkipOutcome> {
    checkText("skipEvent: reason", reason, "the reason, for readers of the log");
    const { allThatFollow = false } = options;
    const actor = checkedByWhom("skipEvent", { actor: { kind: "operator" }, ...options }, skipOptions);
    return skipEvent(this.log, this.#stream.name, { revision, reason, actor, allThatFollow });
  }

  /**
   * Deletes what a server stored for this conversation: responses of a provider's endpoint, including those of layers' own requests, and
   * conversation objects with their items; not what a fork inherited. The intent is durable before the first deletion, so nothing
   * continues from them; the server's answer is recorded for each. Calling it again retries those that failed.
   *
   * @throws {RunInProgressError} while a run is open.
   * @throws {TypeError} if the provider cannot delete, or an option is unknown or invalid.
   */
  async deleteStored(provider: Provider, options: DeleteStoredOptions = {}): Promise<DeletedStored> {
    const { deleteStored } = await import("./delete-stored.ts");
    return deleteStored(this.#stream, provider, options);
  }

  /** @internal The names under which it records blocks. */
  names(): BlockNames | Promise<BlockNames> {
    return this.#stream.names();
  }

  /** @internal */
  async [commit](entries: readonly ProposedEvent[]): Promise<readonly RecordedEvent[]> {
    const result = await this.#stream.commit(entries);
    if (result.status === "rejected" && result.rejection.code === "conversation-exists")
      throw new TurnlogError("conversation-exists", `${this.id} already exists: choose another id, or leave it out`);
    if (result.status === "rejected") throw new Error(`refused: ${JSON.stringify(result.rejection)}`);
    return result.events;
  }

  async #startFrom(origin: ConversationOrigin, actor: Actor, title?: string): Promise<void> {
    const data = { origin, ...(title === undefined ? {} : { title }) };
    await this[commit]([{ event: { type: "ConversationStarted", version: 1, data }, actor }]);
  }

  #blockId(key: string | undefined, index: number): BlockId {
    return key === undefined ? blockIdSchema.parse(this.#others.newId("blk")) : keyedBlockId(this.id, key, index);
  }
}
