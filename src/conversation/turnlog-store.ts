import type { StoreVerifyOptions, Verification } from "../audit/verify.ts";
import { optionsOf } from "../base/options.ts";
import type { ConversationId } from "../domain/ids.ts";
import { checkedConversationId, conversationOfStream, conversationStream } from "../domain/ids.ts";
import { resumeConversation } from "../engine/run/begin.ts";
import { parkRuns } from "../engine/run/parking.ts";
import { checkedRun, type ResumeOptions, type WithContext } from "../engine/run/run-options.ts";
import type { Codec } from "../engine/stack/codec.ts";
import type { Engine } from "../engine/stack/engine.ts";
import type { Provider } from "../engine/stack/provider.ts";
import type { RunResult } from "../engine/stack/result.ts";
import type { ErasureReason } from "../erasure/erase.ts";
import type { ErasurePlan } from "../erasure/plan.ts";
import type { ErasureReceipt } from "../erasure/receipt.ts";
import { createEventLog, type EventLog, type EventLogSources } from "../log/codec/event-log.ts";
import { createEventIds, randomId } from "../log/codec/ids.ts";
import type { EventStore } from "../log/ports/event-store.ts";
import { ConversationWriter } from "../log/writer/conversation-writer.ts";
import { readOwn } from "../log/writer/read-conversation.ts";
import { codecsWith } from "../providers/codecs.ts";
import { Conversation } from "./conversation.ts";
import { waitMs } from "./conversation-options.ts";
import type { ImportedConversation, ImportStoredOptions } from "./import-stored.ts";
import type { ConversationPage, ListOptions } from "./list.ts";
import { type ResumeAllOptions, type ResumedConversation, resumeAll } from "./resume-all.ts";
import type { SearchOptions, SearchResult } from "./search.ts";
import { WeakValues } from "./weak-values.ts";

/** What a store is given: codecs; for tests a clock and ids that repeat, and no waiting before an append is sent again. */
export type StoreSources = Partial<EventLogSources> & {
  /** Codecs of other providers than turnlog's own, so that requests which they encoded can be verified and made again. */
  readonly codecs?: readonly Codec[];
  /** A new id with this prefix, for a conversation or a block that was made outside a run. */
  readonly newId?: (prefix: "cnv" | "blk") => string;
};

export type CloseOptions = {
  /** How long runs that go on in this process have to end what they do, in milliseconds; 5,000 when absent. */
  readonly graceMs?: number;
};

const closeOptions = optionsOf<CloseOptions>({ graceMs: waitMs });

/** Conversations over an event store. */
export class TurnlogStore implements AsyncDisposable {
  readonly events: EventStore;
  readonly log: EventLog;
  readonly newId: (prefix: "cnv" | "blk") => string;
  /** By name: what recorded requests are made again with. */
  readonly codecs: ReadonlyMap<string, Codec>;
  readonly #clock: () => number;
  #closing: Promise<void> | null = null;
  // One writer a stream in this process (rule: Run ownership), for as long as anybody holds the conversation or runs it.
  readonly #streams = new WeakValues<ConversationId, ConversationWriter>();

  constructor(events: EventStore, sources: StoreSources = {}) {
    const {
      clock = Date.now,
      newEventId = createEventIds({ clock }),
      newId = randomId,
      codecs = [],
      ...rest
    } = sources;
    this.events = events;
    this.newId = newId;
    this.#clock = clock;
    this.codecs = codecsWith(codecs);
    this.log = createEventLog(events, { clock, newEventId, ...rest });
  }

  /**
   * A conversation of what a server stores, where the log of it was lost: the response by its id, and every one that it goes on
   * from, as blocks by import. It says what the server could not give back. Where nothing of the context is missing, the next
   * request continues from the response.
   *
   * @throws {ProviderError} when the response is not there, is not finished, or cannot be read.
   * @throws {TurnlogError} `conversation-exists` when the id that was asked for is taken.
   * @throws {TypeError} for a provider that reads no stored responses, and for an option that is none.
   */
  async importResponse(
    provider: Provider,
    responseId: string,
    options: ImportStoredOptions = {},
  ): Promise<ImportedConversation> {
    const { importResponse } = await import("./import-stored.ts");
    return importResponse(provider, responseId, { ...options, conversation: (id) => this.conversation(id) });
  }

  /**
   * The same of what a conversation object holds now, by its id. The object is read only: others may use it, so the next request
   * sends everything, in mode `conversation` to an object of its own.
   *
   * @throws {ProviderError} when the object is not there, or cannot be read.
   * @throws {TurnlogError} `conversation-exists` when the id that was asked for is taken.
   * @throws {TypeError} for a provider that reads no conversation objects, and for an option that is none.
   */
  async importConversation(
    provider: Provider,
    objectId: string,
    options: ImportStoredOptions = {},
  ): Promise<ImportedConversation> {
    const { importConversation } = await import("./import-stored.ts");
    return importConversation(provider, objectId, { ...options, conversation: (id) => this.conversation(id) });
  }

  /**
   * A conversation by its id, or a new one. It comes into being with its first append.
   *
   * @param id - Up to 128 letters, digits, `_` and `-`: your own, such as a UUID. It stands in the log and is never erased.
   * @throws {TypeError} for what is no such text.
   */
  conversation(id: string = this.newId("cnv")): Conversation {
    const conversationId = checkedConversationId(id);
    const stream = this.#stream(conversationId);
    const { log, newId, codecs } = this;
    return new Conversation(conversationId, stream, {
      ...{ log, newId, codecs, conversation: (other) => this.conversation(other) },
    });
  }

  #stream(id: ConversationId): ConversationWriter {
    return this.#streams.get(id, () => new ConversationWriter(this.log, conversationStream(id)));
  }

  /**
   * The conversations of the store, the one that was written last first, a page at a time: what each is called, how it goes
   * and what it cost, and its labels.
   *
   *     const { conversations, next } = await store.list({ labels: { user: "ann" } });
   *     const older = next === null ? null : await store.list({ labels: { user: "ann" }, after: next });
   *
   * @param options - `limit`: how many on a page, by default 20. `after`: `next` of the page before. `sort`, `order`, `since`, `until`,
   *   `labels`, `state`, `losses`: which ones, and in which order.
   * @throws {TypeError} for a misspelt option, and for a value that it cannot have.
   * @throws {RangeError} for a limit that is no whole number from 1.
   */
  async list(options: ListOptions = {}): Promise<ConversationPage> {
    const { listConversations } = await import("./list.ts");
    return listConversations(this.events, options);
  }

  /**
   * Looks for words in all titles and texts of the store: what was said, what tools gave, and what layers wrote. Upper and
   * lower case are one, a part of a word will do, and languages without spaces need none. Of several words all have to stand
   * in one text, in any order; what stands between double quotes is looked for as it is.
   *
   *     for (const { conversation, revision, snippet } of (await store.search("weather paris")).hits)
   *       console.log(conversation, revision, snippet);
   *
   * @param options - `limit`: how many places at most, by default 20, newest conversations first.
   * @throws {TypeError} for a text without a word, and for a misspelt option.
   * @throws {RangeError} for a limit that is no whole number from 1.
   */
  async search(text: string, options: SearchOptions = {}): Promise<SearchResult> {
    const { searchConversations } = await import("./search.ts");
    return searchConversations(this.log, text, options);
  }

  /**
   * Checks all of the store: hash chains, heads, schemas, both folds, every request, whose body is made again, and what rows of
   * projections show. Damage is told, not thrown.
   *
   *     const { isSound, problems, heads } = await store.verify({ savedHeads });
   *
   * @param options - `savedHeads`: the `heads` of an earlier verification that were kept elsewhere; only they show that the
   *   newest events of a conversation were cut off by somebody who can write the store. `onEvent` is told of every event.
   * @throws {TypeError} for a misspelt option.
   * @throws {StoreUnavailableError} when the store cannot be read: that says nothing about what it holds.
   */
  async verify(options: StoreVerifyOptions = {}): Promise<Verification> {
    const [{ storeVerifyOptions, verification }, { readModels }] = await Promise.all([
      import("../audit/verify.ts"),
      import("./read-models.ts"),
    ]);
    storeVerifyOptions.check("verify", options);
    const models = this.events.views === undefined ? [] : readModels(this.events);
    return verification(this.events, { ...options, codecs: this.codecs, readModels: models });
  }

  /**
   * Resumes the runs of the store that were cut off or parked and wait for no person, as a process does that begins where another one ended:
   * eight at once. Says of each what became of it; one that cannot go on keeps no other from it. Runs of living processes are left to them.
   *
   *     const resumed = await store.resumeAll(engine, { where: ({ labels }) => labels.app === "support" });
   *
   * @param options - Those of `conversation.resume`, and `where`: return true for the conversations to resume.
   * @throws {TypeError} for what is no engine, for an option that is none, and for a `where` that is no function.
   */
  async resumeAll<Context, Made, Output = Made>(
    engine: Engine<Context, Made>,
    ...[options = {}]: WithContext<Context, ResumeOptions<Context, Output> & ResumeAllOptions>
  ): Promise<readonly ResumedConversation<Output>[]> {
    const { where, ...rest }: ResumeOptions<Context, Output> & ResumeAllOptions = options;
    checkedRun("resume", engine, rest);
    return resumeAll<Output>(this.events, {
      ...(where === undefined ? {} : { where }),
      resume: async (id) => {
        const result = await resumeConversation(this.#stream(id), ...checkedRun("resume", engine, rest));
        // What it is was validated by the schema that has this type.
        return result as RunResult<Output> | null;
      },
    });
  }

  /**
   * What it would take to erase conversations as a whole, so that nothing that was said in them is left in the store (rule: Erasure).
   * Nothing is done yet.
   *
   * @throws {TurnlogError} `not-found`, `store-cannot-erase`, and `erasure-refused` where a run is open, or a fork would lose what it inherits.
   * @throws {ConversationErasedError} for one that was erased.
   */
  async planErasure({ conversations }: { readonly conversations: readonly string[] }): Promise<ErasurePlan> {
    const [{ planErasure }, { countStored }] = await Promise.all([
      import("../erasure/plan.ts"),
      import("./delete-stored.ts"),
    ]);
    return planErasure(this.events, {
      conversations: conversations.map(checkedConversationId),
      stored: async (id) => {
        const stream = this.#stream(id);
        await stream.refresh();
        return countStored(readOwn(stream, 0));
      },
    });
  }

  /**
   * Erases what a plan names, and gives the receipt. The conversations cannot be read or written afterwards, their ids are not used again, and
   * the hash chain of each is still checked by `verify`.
   *
   *     const plan = await store.planErasure({ conversations: ["support-17"] });
   *     const receipt = await store.erase(plan, { by: "dpo", ground: "gdpr-17", ticket: "T-204" });
   *     if (!receipt.finished) console.log(receipt.leftOver);
   *
   * @throws {TurnlogError} `erasure-refused` where a conversation is not what it was when it was planned: nothing was erased then.
   * @throws {TypeError} for a reason that is no code: codes stay in the log, and other texts could be personal.
   */
  async erase(plan: ErasurePlan, reason: ErasureReason): Promise<ErasureReceipt> {
    const { erase } = await import("../erasure/erase.ts");
    return erase(this.log, plan, { reason, ...(await this.#erasing()) });
  }

  /**
   * Goes on with an erasure that was broken off, or that left something over.
   *
   * @throws {TurnlogError} `erasure-not-found` where the store has no such order.
   */
  async resumeErasure(orderId: string): Promise<ErasureReceipt> {
    const { resumeErasure } = await import("../erasure/erase.ts");
    return resumeErasure(this.log, orderId, await this.#erasing());
  }

  async #erasing() {
    const { rowsOfConversation, rowsKept } = await import("./read-models.ts");
    return { clock: this.#clock, rowsOf: rowsOfConversation, projections: rowsKept };
  }

  /** The ids of all conversations, in the order of their names. */
  async *conversations(): AsyncIterable<ConversationId> {
    for await (const { stream } of this.events.heads("conversation-")) {
      const id = conversationOfStream(stream);
      if (id !== null) yield id;
    }
  }

  /**
   * Closes the store. Runs that go on in this process are *parked* first: their requests and tools are aborted, and waited for, what came of
   * them is recorded, and each run stays open without an owner. The next `run` goes on with it, here or in another process: with a tool that did
   * not end in that time as one in doubt, and with a request that was aborted as one whose answer was lost.
   *
   * @param options - `graceMs`: how long is waited, by default five seconds.
   * @throws {TypeError} for an option that is none.
   * @throws {RangeError} for a time that is none.
   */
  close(options: CloseOptions = {}): Promise<void> {
    closeOptions.check("close", options);
    const { graceMs = 5_000 } = options;
    this.#closing ??= parkRuns(this.log, graceMs).then(() => this.events.close());
    return this.#closing;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}
