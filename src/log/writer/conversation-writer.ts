import { TurnlogError } from "../../base/turnlog-error.ts";
import type { Block } from "../../domain/block.ts";
import type { Rejection } from "../../domain/conversation.ts";
import type { ProposedEvent, RecordedEvent } from "../../domain/events/recorded.ts";
import type { Owner } from "../../domain/events/run-events.ts";
import type { BlockId } from "../../domain/ids.ts";
import type { Turn } from "../../domain/turn.ts";
import type { CompletedRun } from "../../projections/answers.ts";
import type { ConversationView } from "../../projections/conversation-view.ts";
import type { RunTurns } from "../../projections/run-turns.ts";
import type { EventLog } from "../codec/event-log.ts";
import { isOfTheStore } from "../codec/recorded.ts";
import { foldWhole } from "../fold/fold.ts";
import { isFork } from "../history/lineage.ts";
import type { SkippedEvents } from "../history/skipped-events.ts";
import type { Head } from "../ports/event-store.ts";
import { readContents, readUnsent } from "../snapshots/contents.ts";
import { inheritedInvalidations } from "../snapshots/inherited-invalidations.ts";
import { answeredBy, appendedBy, holdNames } from "../snapshots/look-up.ts";
import { turnOf } from "../snapshots/open.ts";
import { decideAll } from "./decide-all.ts";
import { HeldFold } from "./held-fold.ts";
import { ownerIn } from "./owner.ts";

export type CommitResult =
  | { readonly status: "committed"; readonly events: readonly RecordedEvent[] }
  | { readonly status: "rejected"; readonly rejection: Rejection };

/** How often one commit is prepared anew because someone else wrote first. */
const maxPreparations = 50;

/**
 * The one writer of a conversation's stream in this process: it keeps the folds at the head it knows, decides on them what is
 * proposed, and appends what is to be recorded. Commits go one after another.
 */
export class ConversationWriter {
  readonly name: string;
  readonly log: EventLog;
  readonly #held: HeldFold;
  #queue: Promise<unknown> = Promise.resolve();

  constructor(log: EventLog, name: string) {
    this.log = log;
    this.name = name;
    this.#held = new HeldFold(log, name);
  }

  /** What is folded, at `head`; of a conversation that was opened from a snapshot, without what is read when it is asked for. */
  get view(): ConversationView {
    return this.#held.fold.view;
  }

  get head(): Head | null {
    return this.#held.fold.head;
  }

  /** The latest time that an event of the stream has. */
  get lastAt(): string | null {
    return this.#held.fold.lastAt;
  }

  /** When the newest event of the run that is open happened, as its envelope says: its last sign of life. */
  get lastRunAt(): string | null {
    return this.#held.fold.lastOfRun?.at ?? null;
  }

  /** The newest event of the run that is open. */
  get lastRunRevision(): number | null {
    return this.#held.fold.lastOfRun?.revision ?? null;
  }

  /** This process, as the owner of a run here. */
  owner(): Promise<Owner> {
    return ownerIn(this.log.store);
  }

  /** What is left out of what is folded, because an operator skipped it. */
  get skipped(): SkippedEvents {
    return this.#held.fold.skipped;
  }

  /** Reads what others wrote, and folds it. */
  refresh(): Promise<ConversationView> {
    return this.#enqueue(() => this.#held.catchUp());
  }

  /**
   * Records what the ancestors of a fork have learnt since (rule: Contexts and anchors): a response that a server lost for the parent is lost
   * for the fork. What is planned then follows from this conversation's own events, whatever the ancestors go on to do.
   * The own events have to be at hand.
   */
  async learnFromAncestors(): Promise<ConversationView> {
    for (const [stream, seen] of this.#held.fold.ancestors) {
      const { invalidations, revision } = await inheritedInvalidations(
        this.log.store,
        { stream, seen, own: this.name },
        this.view,
      );
      if (invalidations.length > 0)
        await this.commit(invalidations.map((event) => ({ event, actor: { kind: "engine" } })));
      this.#held.fold.ancestors.set(stream, revision);
    }
    return this.view;
  }

  /**
   * The run that answered a block, or (null) the one that left nothing to answer; null when there is none. The events have to
   * be at hand.
   */
  answeredBy(blockId: BlockId | null): Promise<CompletedRun | null> {
    return this.#found(() => answeredBy(this.log, this.#held.open, blockId));
  }

  /** The event that appended a block from outside a run; null when none did. */
  appended(blockId: BlockId): Promise<RecordedEvent | null> {
    return this.#found(() => appendedBy(this.log, this.#held.open, blockId));
  }

  /** Reads the contents of blocks of the conversation, by default of its Turn, that were not read. */
  readContents(blocks: readonly Block[] = this.view.client.committed.blocks): Promise<void> {
    return this.#read(() => readContents(this.log, blocks));
  }

  /** The Turn as it is now, to be read when it is asked for, whatever comes after it. */
  turnReader(): () => Promise<Turn> {
    const { committed } = this.view.client;
    const at = { stream: this.name, revision: this.head?.revision ?? -1 };
    return () => turnOf(this.log, committed, at);
  }

  /** Reads what a request is made of as long as it continues from what the endpoint holds of the Turn. */
  readUnsent(turn: Turn, scope: string): Promise<void> {
    return this.#read(() => readUnsent(this.log, this.#held.fold, { turn, scope }));
  }

  /**
   * Where what is read is not what the snapshot says, the conversation is folded anew: the events alone tell.
   *
   * @throws {ConversationDamagedError} when it is they that are damaged.
   */
  async #read(work: () => Promise<boolean>): Promise<void> {
    try {
      if (await work()) return;
    } catch (error) {
      if (isOfTheStore(error)) throw error;
    }
    await this.#enqueue(() => this.#held.foldAnew());
  }

  /** What was looked up, or, where the cache has lost it, the same in a fold of all events. */
  async #found<T>(look: () => Promise<T | undefined>): Promise<T> {
    const found = await look();
    if (found !== undefined) return found;
    return this.#enqueue(async () => {
      await this.#held.foldAnew();
      const again = await look();
      if (again === undefined)
        throw new Error(`all events of ${this.name} were read again, and do not tell what they themselves say`);
      return again;
    });
  }

  /** Reads all that planning may ask for besides: settings, and who made and changed what. */
  async readAll(): Promise<void> {
    await this.readContents();
    await this.#read(async () => {
      for (const digest of this.view.server.declared.keys())
        if (!(await this.#held.fold.readSettings(this.log, digest))) return false;
      return true;
    });
    await this.#enqueue(async () => {
      const { client } = this.view;
      if (client.blame !== null || this.head === null) return;
      // Kept from then on: it is asked for by stacks that change what was sent.
      client.blame = (await foldWhole(this.log, this.name, this.head.revision)).view.client.blame;
    });
  }

  /**
   * Appends what is to be recorded of the proposed events, all or nothing unless it is too big for one append. On a conflict it
   * reads what came first and decides anew what is not there yet; `guard` may refuse by throwing.
   *
   * @param applied - The Turns of the run that the events are of, where its process has applied them to those already: the fold adopts
   * them with the run's first event.
   * @throws {StoreUnavailableError} when the outcome is unknown.
   * @throws {InvalidEventError} for what could not be read again; nothing was appended.
   */
  commit(
    proposed: readonly ProposedEvent[],
    guard?: (view: ConversationView) => void,
    applied: RunTurns | null = null,
  ): Promise<CommitResult> {
    return this.#enqueue(() => this.#commit(proposed, guard, applied));
  }

  /** Gives up what a run of this process has proposed and will not append: the fold is what the log has. */
  async dropProposed(): Promise<void> {
    await this.#enqueue(() => this.#held.dropProposed());
  }

  async #commit(
    proposed: readonly ProposedEvent[],
    guard: ((view: ConversationView) => void) | undefined,
    applied: RunTurns | null,
  ): Promise<CommitResult> {
    if (this.head === null) await this.#held.catchUp();
    if (applied === null && proposed.some((each) => this.#held.goesOnWith(each))) await this.#held.dropProposed();
    const written: RecordedEvent[] = [];
    let left = proposed;
    for (let preparation = 1; ; preparation += 1) {
      if (!(await holdNames(this.log, this.#held.open, left))) {
        await this.#held.foldAnew();
        await holdNames(this.log, this.#held.open, left);
      }
      if (left.some(({ event }) => event.type === "SettingsDeclared")) await this.#readBase();
      guard?.(this.view);
      // Of what a snapshot left aside, the names are held by now.
      const decision = decideAll(this.#held.fold.facts, left, this.view.server.base);
      if (!decision.ok) return { status: "rejected", rejection: decision.error };
      const { value: decided } = decision;
      if (decided.length === 0) return { status: "committed", events: written };
      const result = await this.log.append(this.name, this.head, decided);
      const { events } = result;
      written.push(...events);
      if (result.status === "appended") {
        if (events.some(({ event }) => isFork(event))) await this.#held.catchUp();
        else if (!(await this.#held.take(events, applied))) await this.#held.foldAnew();
        await this.#held.save();
        return { status: "committed", events: written };
      }
      if (preparation === maxPreparations) throw streamContended(this.name);
      // What was too big for one append may be there in part: the rest of it follows what came between.
      if (!(await this.#held.take(events, applied))) await this.#held.foldAnew();
      const next = events.length === 0 ? undefined : decided[events.length]?.proposed;
      if (next !== undefined) left = left.slice(left.indexOf(next));
      await this.#held.catchUp();
    }
  }

  /** Of what a snapshot left aside, the newest settings: the next ones may say what differs from them. */
  async #readBase(): Promise<void> {
    const { base, declared } = this.view.server;
    const newest = [...declared.keys()].at(-1);
    if (base === null && newest !== undefined) await this.#held.fold.readSettings(this.log, newest);
  }

  #enqueue<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#queue.then(work);
    this.#queue = result.catch(() => undefined);
    return result;
  }
}

/** Others wrote to the conversation each time that something was prepared. */
export const streamContended = (stream: string): TurnlogError =>
  new TurnlogError(
    "stream-contended",
    `${stream} changed ${maxPreparations} times while one append was prepared; try again`,
  );
