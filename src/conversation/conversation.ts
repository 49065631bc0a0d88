import { checkText } from "../base/options.ts";
import { TurnlogError } from "../base/turnlog-error.ts";
import type { Actor } from "../domain/actor.ts";
import { type AppendInput, draftsOf } from "../domain/chat-message.ts";
import type { ConversationOrigin } from "../domain/events/conversation-events.ts";
import type { ProposedEvent, RecordedEvent } from "../domain/events/recorded.ts";
import { type BlockId, blockIdSchema, type ConversationId, keyedBlockId, namedIdText } from "../domain/ids.ts";
import { hiddenLabel } from "../domain/labels.ts";
import type { Turn } from "../domain/turn.ts";
import { isWindow, type ServerWindow, takeWindow } from "../engine/compaction/server-window.ts";
import { compactTurn } from "../engine/compaction/without-model.ts";
import { summariseConversation } from "../engine/run/begin.ts";
import { checkedRun, type SummariseOptions, type WithContext } from "../engine/run/run-options.ts";
import type { CompactOptions } from "../engine/stack/compact-policy.ts";
import type { AnyEngine, Engine } from "../engine/stack/engine.ts";
import type { Provider } from "../engine/stack/provider.ts";
import type { RunResult } from "../engine/stack/result.ts";
import type { ToolContext } from "../engine/stack/tool.ts";
import { randomId } from "../log/codec/ids.ts";
import type { ConversationWriter } from "../log/writer/conversation-writer.ts";
import { forkOrigin } from "../log/writer/fork.ts";
import { changeTurn, exchangeNotFound, reverted } from "../log/writer/revert.ts";
import { type SkipOutcome, skipEvent } from "../log/writer/skip-event.ts";
import { appendBlocks } from "./append-blocks.ts";
import {
  type ActorOption,
  type Appended,
  type AppendOptions,
  type ConversationLabels,
  checkedAppend,
  checkedByWhom,
  checkedLabels,
  forkOptions,
  skipOptions,
} from "./conversation-options.ts";
import type { DeletedStored, DeleteStoredOptions } from "./delete-stored.ts";
import type { ReadingTools } from "./readable-conversation.ts";
import { reasoningReset } from "./reasoning-reset.ts";
import { RunnableConversation } from "./runnable-conversation.ts";

/** What a conversation needs of the store that it is in. */
type Conversations = Omit<ReadingTools, "stream"> & {
  readonly newId: (prefix: "cnv" | "blk") => string;
  readonly conversation: (id?: string) => Conversation;
};

/** One conversation: what was said, who changed it, and what the model's server knows of it. */
export class Conversation extends RunnableConversation {
  readonly #stream: ConversationWriter;
  readonly #others: Conversations;

  constructor(id: ConversationId, stream: ConversationWriter, others: Conversations) {
    super(id, { ...others, stream });
    this.#stream = stream;
    this.#others = others;
  }

  /**
   * Appends blocks, or messages as chat APIs have them (`{ role, content }`); a text is a user's message. Durable when it
   * resolves. While a run is open they wait for its end. With a key it may be called again for the same message: that
   * appends nothing, and gives the blocks of the first time. A tool result answers an open call: one that the Turn holds no result
   * for, however long ago it was made, and whatever was said since.
   *
   * @throws {TurnlogError} `key-reused` when another message was appended under the key.
   * @throws {TurnlogError} `no-open-call` for a tool result that answers no open call.
   * @throws {TypeError} for what is none of these, an empty key, and an actor that callers may not be.
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

  /** Names the conversation for people; labels are for programs, and one that is given as null is taken away. */
  async relabel(data: ConversationLabels, byWhom: ActorOption = {}): Promise<void> {
    const actor = checkedByWhom("relabel", { actor: { kind: "app" }, ...byWhom });
    await this.commit([{ event: { type: "ConversationRelabelled", version: 1, data: checkedLabels(data) }, actor }]);
  }

  /** Takes the conversation out of lists; it can be read, run and found as before, and `unhide` lists it again. */
  async hide(byWhom: ActorOption = {}): Promise<void> {
    await this.relabel({ labels: { [hiddenLabel]: "true" } }, byWhom);
  }

  async unhide(byWhom: ActorOption = {}): Promise<void> {
    await this.relabel({ labels: { [hiddenLabel]: null } }, byWhom);
  }

  /**
   * A new conversation that goes on from a revision of this one, by default from its newest: one event, and nothing is
   * copied. Where a run is open there, the fork has what would be left had it been cancelled. This one is untouched.
   *
   * @throws {TurnlogError} `revision-not-found` when there is no such revision.
   * @throws {ConversationDamagedError} when this conversation is damaged up to there.
   * @throws {TurnlogError} `conversation-exists` when `id` is that of another conversation; the same fork again is harmless.
   */
  async fork(revision = -1, options: ActorOption & { readonly id?: string } = {}) {
    const actor = checkedByWhom("fork", options, forkOptions);
    const fork = this.#others.conversation(options.id);
    await fork.#startFrom(await forkOrigin(this.log, this.id, revision), actor);
    return fork;
  }

  /**
   * The conversation of a subagent that a tool call opens, by the tool's context: linked to the call, with a history of its
   * own. The same call and name give the same conversation, so that a tool that runs again finds it.
   */
  async child(name: string, { runId, blockId }: Pick<ToolContext, "runId" | "blockId">): Promise<Conversation> {
    const child = this.#others.conversation(`cnv_${namedIdText(`${this.id} ${blockId} ${name}`)}`);
    await child.#startFrom({ type: "child", conversationId: this.id, runId, blockId }, { kind: "app" }, name);
    return child;
  }

  /**
   * Makes the Turn what it was at a revision; an open run there does not count. What came since stays in the log.
   *
   * @throws {TurnlogError} `revision-not-found` when there is no such revision.
   * @throws {RunInProgressError} while a run is open now.
   */
  async revertTo(revision: number, byWhom: ActorOption = {}): Promise<Turn> {
    const actor = checkedByWhom("revertTo", byWhom);
    const past = await this.at(revision);
    const turn = await past.content();
    return changeTurn(this.#stream, { target: () => turn, event: reverted(past.revision), actor });
  }

  /**
   * Ends the Turn with its n-th exchange, from 0, or counted from the end when negative: what was said after it stays in
   * the log.
   *
   * @throws {TurnlogError} `exchange-not-found` when there is no such exchange.
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
   * Makes the Turn shorter, between two runs and without a model: cuts tool results, or leaves out the oldest exchanges. Blocks stay
   * readable at earlier revisions, a call keeps its result, and what was answered stays answered. Gives the Turn, and writes
   * nothing where there is nothing to make shorter.
   *
   * @throws {RunInProgressError} while a run is open.
   * @throws {TypeError | RangeError} for an option that is none, and a value that it cannot have.
   */
  compact(options?: CompactOptions): Promise<Turn>;
  /**
   * Has an engine's model summarise the oldest exchanges, in a run that asks for nothing else: its layers see what the model is
   * shown, what it cost is in the result, and a crash in the middle is taken up by the next run. A run that was cut off is finished
   * first. Null where there is nothing to summarise.
   *
   * @throws {RunInProgressError} while a process that lives runs the conversation.
   * @throws {RunUnfinishedError} while a run waits for something in doubt to be settled.
   * @throws {RunFailedError} when the model gave no summary: the Turn is as it was.
   * @throws {RunCancelledError} when the signal aborted.
   * @throws {TypeError | RangeError} for what is no engine, an option that is none, and a value that it cannot have.
   */
  compact<Context>(
    engine: Engine<Context, unknown>,
    ...options: WithContext<Context, SummariseOptions<Context>>
  ): Promise<RunResult | null>;
  /**
   * Puts what a server made of a response and all before it (`provider.compact`) in the place of that, between two runs. What came
   * since stays behind it, and the next request begins a new chain with it.
   *
   * @throws {RunInProgressError} while a run is open.
   * @throws {TurnlogError} `window-outdated` where the Turn does not begin with what the window was made of.
   * @throws {TypeError} for a window that is none.
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
   * Has no later request carry, or continue from, the reasoning of the Turn, whose blocks stay as they are. Gives the ids of those
   * that are not sent any more.
   */
  async resetReasoning(byWhom: ActorOption = {}): Promise<readonly BlockId[]> {
    const actor = checkedByWhom("resetReasoning", { actor: { kind: "app" }, ...byWhom });
    const { blockIds, events } = reasoningReset(await this.turn());
    if (events.length > 0) await this.commit(events.map((event) => ({ event, actor })));
    return blockIds;
  }

  /**
   * Lets everything that decides go on without a damaged event, which an operator has looked at; views show it still. Gives
   * what the conversation stops at then: often events that follow from the one that is left out, which `allThatFollow` skips
   * too.
   *
   * @throws {TurnlogError} `event-not-damaged` when the first damage is elsewhere, or there is none.
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
   * Has a server forget what it stored for this conversation: responses of a provider's endpoint, layers' own requests among them,
   * and conversation objects with their items; not what a fork inherited. That they are to be deleted is durable before the first is, so that nothing is
   * continued from them; what the server answered is recorded for each. Called again, it tries those that failed.
   *
   * @throws {RunInProgressError} while a run is open.
   * @throws {TypeError} for a provider that cannot delete, and for an option that is none.
   */
  async deleteStored(provider: Provider, options: DeleteStoredOptions = {}): Promise<DeletedStored> {
    const { deleteStored } = await import("./delete-stored.ts");
    return deleteStored(this.#stream, provider, options);
  }

  /** Proposes events as they are: what imports and repairs use. */
  async commit(entries: readonly ProposedEvent[]): Promise<readonly RecordedEvent[]> {
    const result = await this.#stream.commit(entries);
    if (result.status === "rejected" && result.rejection.code === "conversation-exists")
      throw new TurnlogError("conversation-exists", `${this.id} exists already: choose another id, or none`);
    if (result.status === "rejected") throw new Error(`refused: ${JSON.stringify(result.rejection)}`);
    return result.events;
  }

  async #startFrom(origin: ConversationOrigin, actor: Actor, title?: string): Promise<void> {
    const data = { origin, ...(title === undefined ? {} : { title }) };
    await this.commit([{ event: { type: "ConversationStarted", version: 1, data }, actor }]);
  }

  #blockId(key: string | undefined, index: number): BlockId {
    return key === undefined ? blockIdSchema.parse(this.#others.newId("blk")) : keyedBlockId(this.id, key, index);
  }
}
