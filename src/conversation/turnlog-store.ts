import type { CacheOptions, CacheReport } from "../analysis/costs/cache.ts";
import type { Bill } from "../analysis/costs/prices/bill.ts";
import type { BillOptions } from "../analysis/costs/store-bill.ts";
import type { ConversationPage, ListOptions } from "../analysis/lists/list.ts";
import type { SearchOptions, SearchResult } from "../analysis/lists/search.ts";
import { optionsOf } from "../base/options.ts";
import { WeakValues } from "../base/weak-values.ts";
import type { ConversationId } from "../domain/ids.ts";
import { checkedConversationId, conversationOfStream, conversationStream } from "../domain/ids.ts";
import type { Engine } from "../engine/options/engine.ts";
import type { RunResult } from "../engine/options/result.ts";
import type { Codec } from "../engine/ports/codec.ts";
import type { Provider } from "../engine/ports/provider.ts";
import { resumeConversation } from "../engine/run/begin.ts";
import { parkRuns } from "../engine/run/parking.ts";
import { checkedRun, type ResumeOptions, type WithContext } from "../engine/run/run-options.ts";
import { createEventLog, type EventLog, type EventLogSources } from "../log/codec/event-log.ts";
import { createEventIds, randomId } from "../log/codec/ids.ts";
import type { EventStore } from "../log/ports/event-store.ts";
import { ConversationWriter } from "../log/writer/conversation-writer.ts";
import { readOwn } from "../log/writer/read-conversation.ts";
import type { StoreVerifyOptions, Verification } from "../operations/audit/verify.ts";
import type { ErasureReason } from "../operations/erasure/erase.ts";
import type { ErasurePlan } from "../operations/erasure/plan.ts";
import type { ErasureReceipt } from "../operations/erasure/receipt.ts";
import { codecsWith } from "../providers/codecs.ts";
import { Conversation } from "./conversation.ts";
import { type ErasureTargets, planErasureOptions, waitMs } from "./conversation-options.ts";
import type { ImportedConversation, ImportStoredOptions } from "./import-stored.ts";
import { type ResumeAllOptions, type ResumedConversation, resumeAll } from "./resume-all.ts";

/** Codecs of the store, and for tests a clock, repeatable ids, and retries of appends without waiting. */
export type StoreSources = Partial<EventLogSources> & {
  /** Codecs of providers other than turnlog's own, to verify and rebuild the requests that they encoded. */
  readonly codecs?: readonly Codec[];
  /** A new id with this prefix, for a conversation or a block that was made outside a run. */
  readonly newId?: (prefix: "cnv" | "blk") => string;
};

export type CloseOptions = {
  /** How long open runs in this process get to finish their work, in milliseconds; 5,000 when absent. */
  readonly graceMs?: number;
};

const closeOptions = optionsOf<CloseOptions>({ graceMs: waitMs });

/** Conversations over an event store. */
export class TurnlogStore implements AsyncDisposable {
  readonly events: EventStore;
  readonly log: EventLog;
  readonly newId: (prefix: "cnv" | "blk") => string;
  /** By name: rebuild recorded requests. */
  readonly codecs: ReadonlyMap<string, Codec>;
  readonly #clock: () => number;
  #closing: Promise<void> | null = null;
  // One writer for each stream in this process (rule: Run ownership), as long as something holds the conversation or runs it.
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
   * Rebuilds a conversation whose log was lost from what a server stores: imports the response by its id, and every response that it
   * continues from, as blocks. The result lists what the server could not give back. If nothing of the context is missing, the next
   * request continues from the response.
   *
   * @throws {ProviderError} if the response does not exist, is not finished, or cannot be read.
   * @throws {TurnlogError} `conversation-exists` if the requested id is taken.
   * @throws {TypeError} if the provider reads no stored responses, or an option is unknown or invalid.
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
   * The same for what a conversation object holds now, by its id. turnlog only reads the object: others may use it, so the next request
   * sends everything, in mode `conversation` to an object of its own.
   *
   * @throws {ProviderError} if the object does not exist, or cannot be read.
   * @throws {TurnlogError} `conversation-exists` if the requested id is taken.
   * @throws {TypeError} if the provider reads no conversation objects, or an option is unknown or invalid.
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
   * Returns a conversation by its id, or a new one. The first append creates it.
   *
   * @param id - Up to 128 letters, digits, `_` and `-`: your own, such as a UUID. The log keeps it, and it is never erased.
   * @throws {TypeError} if `id` is not such a text.
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
   * Lists the conversations of the store a page at a time, the one written last first: title, state, cost and labels of each.
   *
   *     const { conversations, next } = await store.list({ labels: { user: "ann" } });
   *     const older = next === null ? null : await store.list({ labels: { user: "ann" }, after: next });
   *
   * @param options - `limit`: how many on a page, by default 20. `after`: `next` of the page before. `sort`, `order`, `since`, `until`,
   *   `labels`, `state`, `waitingFor`, `losses`: which ones, and in which order.
   * @throws {TypeError} if an option is unknown or invalid.
   * @throws {RangeError} if the limit is not a whole number from 1.
   */
  async list(options: ListOptions = {}): Promise<ConversationPage> {
    const { listConversations } = await import("../analysis/lists/list.ts");
    return listConversations(this.events, options, { clock: this.#clock });
  }

  /**
   * Adds up what conversations cost: requests, tokens by price class and, with a price file, money (docs/COSTS.md).
   * @example const { rows, total } = await store.bill({ by: "label:user", since: "2026-09-01", prices: "./prices.json" });
   * @throws {TurnlogError} `not-found`; `prices-unusable` for a price file of another form.
   */
  async bill(options: BillOptions = {}): Promise<Bill> {
    const { billConversations } = await import("../analysis/costs/store-bill.ts");
    return billConversations(this.events, options);
  }

  /**
   * Adds up what prompt caches saved and what their misses cost, by cause and by who caused them, the worst first (docs/COSTS.md).
   * @example const { hitRate, misses } = await store.cache({ since: "2026-09-01", prices: "./prices.json" });
   * @throws {TurnlogError} `not-found`; `prices-unusable` for a price file of another form.
   */
  async cache(options: CacheOptions = {}): Promise<CacheReport> {
    const { reportCaches } = await import("../analysis/costs/cache.ts");
    return reportCaches(this.events, options);
  }

  /**
   * Searches all titles and texts of the store: messages, tool results, and texts that layers wrote. It ignores case and matches parts
   * of words; languages without spaces need none. If you give several words, one text has to contain all of them, in any order; a text
   * between double quotes is searched for unchanged.
   *
   *     for (const { conversation, revision, snippet } of (await store.search("weather paris")).hits)
   *       console.log(conversation, revision, snippet);
   *
   * @param options - `limit`: maximum number of places, by default 20, newest conversations first.
   * @throws {TypeError} if the text has no words, or for a misspelt option.
   * @throws {RangeError} if the limit is not a whole number from 1.
   */
  async search(text: string, options: SearchOptions = {}): Promise<SearchResult> {
    const { searchConversations } = await import("../analysis/lists/search.ts");
    return searchConversations(this.log, text, options);
  }

  /**
   * Checks the whole store: hash chains, heads, schemas, both folds, every request, whose body is rebuilt, and the rows of projections.
   * Reports damage in the result instead of throwing.
   *
   *     const { isSound, problems, heads } = await store.verify({ savedHeads });
   *
   * @param options - `savedHeads`: the `heads` of an earlier verification, kept elsewhere; only they show that someone who can write the
   *   store cut off the newest events of a conversation. `onEvent` is called for every event.
   * @throws {TypeError} for a misspelt option.
   * @throws {StoreUnavailableError} if the store cannot be read, which says nothing about its contents.
   */
  async verify(options: StoreVerifyOptions = {}): Promise<Verification> {
    const [{ storeVerifyOptions, verification }, { readModels }] = await Promise.all([
      import("../operations/audit/verify.ts"),
      import("./read-models.ts"),
    ]);
    storeVerifyOptions.check("verify", options);
    const models = this.events.views === undefined ? [] : readModels(this.events);
    return verification(this.events, { ...options, codecs: this.codecs, readModels: models });
  }

  /**
   * Resumes all runs of the store that were cut off or parked and do not wait for a person, eight at once, for a process that replaces
   * another. Returns the outcome of each; a run that cannot be resumed does not stop the others. Runs of living processes are left
   * alone.
   *
   *     const resumed = await store.resumeAll(engine, { where: ({ labels }) => labels.app === "support" });
   *
   * @param options - Those of `conversation.resume`, and `where`: return true for the conversations to resume.
   * @throws {TypeError} if `engine` is not an engine, `where` is not a function, or an option is unknown or invalid.
   */
  async resumeAll<Context, Made, Output = Made>(
    engine: Engine<Context, Made>,
    ...[options = {}]: WithContext<Context, ResumeOptions<Context, Output> & ResumeAllOptions>
  ): Promise<readonly ResumedConversation<Output>[]> {
    const { where, ...rest }: ResumeOptions<Context, Output> & ResumeAllOptions = options;
    checkedRun("resume", engine, rest);
    return resumeAll<Output>(this.events, {
      ...(where === undefined ? {} : { where }),
      clock: this.#clock,
      resume: async (id) => {
        const result = await resumeConversation(this.#stream(id), ...checkedRun("resume", engine, rest));
        // The schema that has this type validated the output.
        return result as RunResult<Output> | null;
      },
    });
  }

  /**
   * Plans an erasure of whole conversations, or of single events, blocks or texts, after which the conversations go on (rule: Erasure). It
   * erases nothing yet.
   *
   *     await store.planErasure({ conversations: ["support-17"] });
   *     await store.planErasure({ blocks: [{ conversation: "support-18", block: "blk_…" }] });
   *     await store.planErasure({ texts: ["My number is 555-0199."] });
   *     await store.planErasure({ subject: "customer-4711" });
   *
   * @throws {TurnlogError} `not-found`, `store-cannot-erase`, and `erasure-refused` if a run is open, a fork would lose what it inherits, or a
   *   conversation can only be erased as a whole.
   * @throws {ConversationErasedError} for a conversation that was erased.
   */
  async planErasure(options: ErasureTargets): Promise<ErasurePlan> {
    planErasureOptions.check("planErasure", options);
    const { conversations, revisions, blocks, in: within, ...others } = options;
    const placed = <Place extends { readonly conversation: string }>(place: Place) => ({
      ...{ ...place, conversation: checkedConversationId(place.conversation) },
    });
    const [{ planErasure }, { countStored }] = await Promise.all([
      import("../operations/erasure/plan.ts"),
      import("./delete-stored.ts"),
    ]);
    return planErasure(this.events, {
      codecs: this.codecs,
      ...others,
      ...(conversations === undefined ? {} : { conversations: conversations.map(checkedConversationId) }),
      ...(revisions === undefined ? {} : { revisions: revisions.map(placed) }),
      ...(blocks === undefined ? {} : { blocks: blocks.map(placed) }),
      ...(within === undefined ? {} : { in: within.map(checkedConversationId) }),
      stored: async (id) => {
        const stream = this.#stream(id);
        await stream.refresh();
        return countStored(readOwn(stream, 0));
      },
    });
  }

  /**
   * Erases the conversations of a plan, and returns the receipt. They cannot be read or written afterwards, their ids cannot be reused,
   * and `verify` still checks the hash chain of each.
   *
   *     const plan = await store.planErasure({ conversations: ["support-17"] });
   *     const receipt = await store.erase(plan, { by: "dpo", ground: "gdpr-17", ticket: "T-204" });
   *     if (!receipt.finished) console.log(receipt.leftOver);
   *
   * Of single events, blocks and texts, only those are gone: the conversations go on. With `provider`, what its server stored for the
   * conversations is deleted first.
   *
   * @throws {TurnlogError} `erasure-refused` if a conversation has changed since it was planned: nothing was erased then.
   * @throws {TypeError} if a reason is not a code: codes stay in the log, and other texts could be personal.
   */
  async erase(plan: ErasurePlan, reason: ErasureReason): Promise<ErasureReceipt> {
    const { erase } = await import("../operations/erasure/erase.ts");
    return erase(this.log, plan, { reason, ...(await this.#erasing(reason)) });
  }

  /**
   * Continues an erasure that was interrupted, or that left something over.
   *
   * @throws {TurnlogError} `erasure-not-found` if the store has no such order.
   */
  async resumeErasure(orderId: string): Promise<ErasureReceipt> {
    const { resumeErasure } = await import("../operations/erasure/erase.ts");
    return resumeErasure(this.log, orderId, await this.#erasing({}));
  }

  async #erasing({ provider, by }: Partial<Pick<ErasureReason, "provider" | "by">>) {
    const { rowsOfConversation, rowsKept } = await import("./read-models.ts");
    const { deleteAtProviders } = await import("./delete-stored.ts");
    const providers = provider === undefined ? [] : [provider].flat();
    const actor = { kind: "operator", ...(by === undefined ? {} : { name: by }) } as const;
    return {
      ...{ clock: this.#clock, rowsOf: rowsOfConversation, projections: rowsKept },
      deleteStored:
        providers.length === 0
          ? null
          : (id: ConversationId) => deleteAtProviders(this.#stream(id), providers, { actor }),
    };
  }

  /** The ids of all conversations, in the order of their names. */
  async *conversations(): AsyncIterable<ConversationId> {
    for await (const { stream } of this.events.heads("conversation-")) {
      const id = conversationOfStream(stream);
      if (id !== null) yield id;
    }
  }

  /**
   * Closes the store. It *parks* the runs of this process first: aborts their requests and tools, waits for them, records their results,
   * and leaves each run open without an owner. The next `run` continues it, here or in another process: a tool that did not end in time
   * is in doubt, and an aborted request counts as one with a lost answer.
   *
   * @param options - `graceMs`: how long to wait, by default five seconds.
   * @throws {TypeError} if an option is unknown or invalid.
   * @throws {RangeError} for an invalid time.
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
