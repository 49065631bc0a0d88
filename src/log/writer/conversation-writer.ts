import { TurnlogError } from "../../base/turnlog-error.ts";
import type { Block } from "../../domain/block.ts";
import type { BlockNames } from "../../domain/block-names.ts";
import type { Rejection } from "../../domain/decider/decide.ts";
import type { ProposedEvent, RecordedEvent } from "../../domain/events/recorded.ts";
import type { Owner } from "../../domain/events/run-events.ts";
import type { BlockId } from "../../domain/ids.ts";
import type { Turn } from "../../domain/turn.ts";
import type { CompletedRun } from "../../projections/client-turn/answers.ts";
import type { RunTurns } from "../../projections/client-turn/run-turns.ts";
import type { ConversationView } from "../../projections/views/conversation-view.ts";
import { foldWhole } from "../aggregate/fold.ts";
import type { EventLog } from "../codec/event-log.ts";
import { isOfTheStore } from "../codec/recorded.ts";
import { isFork } from "../history/lineage.ts";
import type { SkippedEvents } from "../history/skipped-events.ts";
import type { Head } from "../ports/event-store.ts";
import { readContents, readUnsent } from "../snapshots/contents.ts";
import { inheritedInvalidations } from "../snapshots/inherited-invalidations.ts";
import { answeredBy, appendedBy, holdNames } from "../snapshots/look-up.ts";
import { turnOf } from "../snapshots/open.ts";
import { decideAll } from "./decide-all.ts";
import { HeldFold } from "./held-fold.ts";
import { namedBy } from "./named-events.ts";
import { ownerIn } from "./owner.ts";

export type CommitResult =
  | { readonly status: "committed"; readonly events: readonly RecordedEvent[] }
  | { readonly status: "rejected"; readonly rejection: Rejection };

/** How often one commit is prepared again because another writer was first. */
const maxPreparations = 50;

/**
 * The only writer of a conversation's stream in this process: it keeps the folds at the known head, decides proposed events on them, and
 * appends the resulting events. Commits run one after another.
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

  /** The view at `head`. If the conversation was opened from a snapshot, parts of it are not read yet. */
  get view(): ConversationView {
    return this.#held.fold.view;
  }

  get head(): Head | null {
    return this.#held.fold.head;
  }

  /** The latest time of any event of the stream. */
  get lastAt(): string | null {
    return this.#held.fold.lastAt;
  }

  /** The time of the newest event of the open run, from its envelope: the run's last sign of life. */
  get lastRunAt(): string | null {
    return this.#held.fold.lastOfRun?.at ?? null;
  }

  /** The newest event of the open run. */
  get lastRunRevision(): number | null {
    return this.#held.fold.lastOfRun?.revision ?? null;
  }

  /** The names under which the conversation records blocks, also those of events that are proposed next. */
  names(): BlockNames | Promise<BlockNames> {
    return this.log.names(this.name, this.head);
  }

  /** This process, as an owner of runs. */
  owner(): Promise<Owner> {
    return ownerIn(this.log.store);
  }

  /** The events that the fold leaves out, because an operator skipped them. */
  get skipped(): SkippedEvents {
    return this.#held.fold.skipped;
  }

  /** Reads and folds what other writers appended. */
  refresh(): Promise<ConversationView> {
    return this.#enqueue(() => this.#held.catchUp());
  }

  /**
   * Records what the ancestors of a fork have learnt since (rule: Contexts and anchors): a response that a server lost for the parent is
   * lost for the fork. Planning then depends on this conversation's own events only, whatever the ancestors do later. The own events must
   * have been read.
   */
  async learnFromAncestors(): Promise<ConversationView> {
    for (const [stream, seen] of [...this.#held.fold.ancestors]) {
      const watched = { stream, seen, own: this.name };
      const { invalidations, revision } = await inheritedInvalidations(this.log.store, watched, this.view);
      if (invalidations.length > 0)
        await this.commit(invalidations.map((event) => ({ event, actor: { kind: "engine" } })));
      this.#held.fold.ancestors.set(stream, revision);
    }
    return this.view;
  }

  /**
   * The run that answered a block, or (for null) the run that left nothing unanswered; null if there is none. The events must have been
   * read.
   */
  answeredBy(blockId: BlockId | null): Promise<CompletedRun | null> {
    return this.#found(() => answeredBy(this.log, this.#held.open, blockId));
  }

  /** The event that appended a block outside runs; null if there is none. */
  appended(blockId: BlockId): Promise<RecordedEvent | null> {
    return this.#found(() => appendedBy(this.log, this.#held.open, blockId));
  }

  /** Reads unread contents of blocks of the conversation; by default, of its Turn. */
  readContents(blocks: readonly Block[] = this.view.client.committed.blocks): Promise<void> {
    return this.#read(() => readContents(this.log, blocks));
  }

  /** Returns a function that reads the current Turn later, whatever is appended meanwhile. */
  turnReader(): () => Promise<Turn> {
    const { committed } = this.view.client;
    const at = { stream: this.name, revision: this.head?.revision ?? -1 };
    return () => turnOf(this.log, committed, at);
  }

  /** Reads what a request needs if it continues from what the endpoint holds of the Turn. */
  readUnsent(turn: Turn, scope: string): Promise<void> {
    return this.#read(() => readUnsent(this.log, this.#held.fold, { turn, scope }));
  }

  /**
   * If what was read differs from the snapshot, folds all events instead.
   *
   * @throws {ConversationDamagedError} if the events themselves are damaged.
   */
  async #read(work: () => Promise<boolean>): Promise<void> {
    try {
      if (await work()) return;
    } catch (error) {
      if (isOfTheStore(error)) throw error;
    }
    await this.#enqueue(() => this.#held.foldAnew());
  }

  /** The result of a look-up, or, if the cache has lost it, of the same look-up in a fold of all events. */
  async #found<T>(look: () => Promise<T | undefined>): Promise<T> {
    const found = await look();
    if (found !== undefined) return found;
    return this.#enqueue(async () => {
      await this.#held.foldAnew();
      const again = await look();
      if (again === undefined)
        throw new Error(`the events of ${this.name} were read again, but the search still does not find what they say`);
      return again;
    });
  }

  /** Reads everything else that planning may need: settings, and blame. */
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
      // Kept from now on: stacks that change what was sent need it.
      client.blame = (await foldWhole(this.log, this.name, this.head.revision)).view.client.blame;
    });
  }

  /**
   * Decides and appends the proposed events, all or nothing unless they are too big for one append. On a conflict it reads what came
   * first and decides again what is still missing; `guard` may stop it by throwing.
   *
   * @param applied - The Turns of the events' run, if this process has already applied the events to them: the fold adopts
   * them with the run's first event.
   * @throws {StoreUnavailableError} if the outcome is unknown.
   * @throws {InvalidEventError} for an event that could not be read back; nothing was appended.
   */
  commit(
    proposed: readonly ProposedEvent[],
    guard?: (view: ConversationView) => void,
    applied: RunTurns | null = null,
  ): Promise<CommitResult> {
    return this.#enqueue(() => this.#commit(proposed, guard, applied));
  }

  /** Discards what a run of this process proposed and will not append: the fold returns to the state of the log. */
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
      // After a conflict at its beginning, the conversation has the names that another writer drew.
      const named = this.#named(left);
      left = named instanceof Promise ? await named : named;
      if (!(await holdNames(this.log, this.#held.open, left))) {
        await this.#held.foldAnew();
        await holdNames(this.log, this.#held.open, left);
      }
      if (left.some(({ event }) => event.type === "SettingsDeclared")) await this.#readBase();
      guard?.(this.view);
      // The names that a snapshot left aside are loaded by now.
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
      // Events that were too big for one append may be there in part: the rest of them follows what came between.
      if (!(await this.#held.take(events, applied))) await this.#held.foldAnew();
      const next = events.length === 0 ? undefined : decided[events.length]?.proposed;
      if (next !== undefined) left = left.slice(left.indexOf(next));
      await this.#held.catchUp();
    }
  }

  /** The same events, with the blocks named that came from outside of runs. Runs name theirs before they make Turns of them. */
  #named(proposed: readonly ProposedEvent[]): readonly ProposedEvent[] | Promise<readonly ProposedEvent[]> {
    if (!proposed.some(({ event }) => event.type === "BlockAppended" || event.type === "ToolFinished")) return proposed;
    const names = this.log.names(this.name, this.head, proposed);
    return names instanceof Promise ? names.then((read) => namedBy(read, proposed)) : namedBy(names, proposed);
  }

  /** Reads the newest complete settings from before the snapshot: the next declaration may record differences from them. */
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
