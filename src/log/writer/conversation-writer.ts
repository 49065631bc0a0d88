import { TurnlogError } from "../../base/turnlog-error.ts";
import type { Block } from "../../domain/block.ts";
import type { Rejection } from "../../domain/conversation.ts";
import type { ConversationEvent } from "../../domain/events/event.ts";
import type { ProposedEvent, RecordedEvent } from "../../domain/events/recorded.ts";
import type { Owner } from "../../domain/events/run-events.ts";
import type { BlockId } from "../../domain/ids.ts";
import type { Turn } from "../../domain/turn.ts";
import type { CompletedRun } from "../../projections/answers.ts";
import type { ConversationView } from "../../projections/conversation-view.ts";
import { ConversationDamagedError } from "../../projections/damage.ts";
import type { RunTurns } from "../../projections/run-turns.ts";
import type { EventLog } from "../codec/event-log.ts";
import { isOfTheStore } from "../codec/recorded.ts";
import type { ConversationFold } from "../fold/conversation-fold.ts";
import { foldWhole, takeEvent } from "../fold/fold.ts";
import { isFork, readHistory } from "../history/lineage.ts";
import type { SkippedEvents } from "../history/skipped-events.ts";
import type { Head } from "../ports/event-store.ts";
import { readContents, readUnsent } from "../snapshots/contents.ts";
import { type AncestorNews, inheritedInvalidations } from "../snapshots/inherited-invalidations.ts";
import { answeredBy, appendedBy, holdNames } from "../snapshots/look-up.ts";
import { foldAnew, newFold, type OpenFold, openFold, turnOf } from "../snapshots/open.ts";
import { decideAll } from "./decide-all.ts";
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
  #open: OpenFold;
  #queue: Promise<unknown> = Promise.resolve();
  /** The snapshots that the next one would build on were deleted: the next refresh folds all events. */
  #isUnsaved = false;
  /** The Turns of the open run, if this process executes it: proposed events are applied to them before they are appended. */
  #applied: RunTurns | null = null;

  constructor(log: EventLog, name: string) {
    this.log = log;
    this.name = name;
    this.#open = newFold(log, name);
  }

  /** The view at `head`. If the conversation was opened from a snapshot, parts of it are not read yet. */
  get view(): ConversationView {
    return this.#fold.view;
  }

  get head(): Head | null {
    return this.#fold.head;
  }

  /** The latest time of any event of the stream. */
  get lastAt(): string | null {
    return this.#fold.lastAt;
  }

  /** The time of the newest event of the open run, from its envelope: the run's last sign of life. */
  get lastRunAt(): string | null {
    return this.#fold.lastOfRun?.at ?? null;
  }

  /** The newest event of the open run. */
  get lastRunRevision(): number | null {
    return this.#fold.lastOfRun?.revision ?? null;
  }

  /** This process, as an owner of runs. */
  owner(): Promise<Owner> {
    return ownerIn(this.log.store);
  }

  /** The events that the fold leaves out, because an operator skipped them. */
  get skipped(): SkippedEvents {
    return this.#fold.skipped;
  }

  /** Reads and folds what other writers appended. */
  refresh(): Promise<ConversationView> {
    return this.#enqueue(() => this.#catchUp());
  }

  /**
   * Records what the ancestors of a fork have learnt since (rule: Contexts and anchors): a response that a server lost for the parent is lost
   * for the fork. What is planned then follows from this conversation's own events, whatever the ancestors go on to do.
   * What an operator skipped there since (rule: Damage) is left out of the fold from now on.
   * The own events have to be at hand.
   */
  async learnFromAncestors(): Promise<ConversationView> {
    for (const stream of [...this.#fold.ancestors.keys()]) {
      const { invalidations, revision } = await this.#enqueue(() => this.#newsOf(stream));
      if (invalidations.length > 0)
        await this.commit(invalidations.map((event) => ({ event, actor: { kind: "engine" } })));
      this.#fold.ancestors.set(stream, revision);
    }
    return this.view;
  }

  /** What an ancestor has recorded since it was looked at last. The fold begins anew where something was skipped there. */
  async #newsOf(stream: string): Promise<AncestorNews> {
    const { ancestors } = this.#fold;
    const place = { stream, seen: ancestors.get(stream) ?? -1, own: this.name };
    const news = await inheritedInvalidations(this.log.store, place, this.view);
    if (!news.hasSkips) return news;
    await this.#foldAnew();
    for (const [each, seen] of ancestors) this.#fold.ancestors.set(each, seen);
    return news;
  }

  /**
   * The run that answered a block, or (for null) the run that left nothing unanswered; null if there is none. The events must have been
   * read.
   */
  answeredBy(blockId: BlockId | null): Promise<CompletedRun | null> {
    return this.#found(() => answeredBy(this.log, this.#open, blockId));
  }

  /** The event that appended a block outside runs; null if there is none. */
  appended(blockId: BlockId): Promise<RecordedEvent | null> {
    return this.#found(() => appendedBy(this.log, this.#open, blockId));
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
    return this.#read(() => readUnsent(this.log, this.#fold, { turn, scope }));
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
    await this.#enqueue(() => this.#foldAnew());
  }

  /** The result of a look-up, or, if the cache has lost it, of the same look-up in a fold of all events. */
  async #found<T>(look: () => Promise<T | undefined>): Promise<T> {
    const found = await look();
    if (found !== undefined) return found;
    return this.#enqueue(async () => {
      await this.#foldAnew();
      const again = await look();
      if (again === undefined)
        throw new Error(`all events of ${this.name} were read again, and do not tell what they themselves say`);
      return again;
    });
  }

  /** Reads everything else that planning may need: settings, and blame. */
  async readAll(): Promise<void> {
    await this.readContents();
    await this.#read(async () => {
      for (const digest of this.view.server.declared.keys())
        if (!(await this.#fold.readSettings(this.log, digest))) return false;
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
    await this.#enqueue(() => this.#dropProposed());
  }

  async #dropProposed(): Promise<ConversationView> {
    if (this.#applied === null) return this.view;
    this.#open = newFold(this.log, this.name);
    this.#applied = null;
    return this.#catchUp();
  }

  async #commit(
    proposed: readonly ProposedEvent[],
    guard: ((view: ConversationView) => void) | undefined,
    applied: RunTurns | null,
  ): Promise<CommitResult> {
    if (this.head === null) await this.#catchUp();
    if (applied === null && proposed.some((each) => this.#goesOnWith(each))) await this.#dropProposed();
    // A run of a fork says what Turn it begins with: what is skipped in an ancestor from now on, it cannot know.
    if (proposed.some(({ event }) => event.type === "RunStarted"))
      for (const stream of [...this.#fold.ancestors.keys()]) await this.#newsOf(stream);
    const written: RecordedEvent[] = [];
    let left = proposed;
    for (let preparation = 1; ; preparation += 1) {
      if (!(await holdNames(this.log, this.#open, left))) {
        await this.#foldAnew();
        await holdNames(this.log, this.#open, left);
      }
      if (left.some(({ event }) => event.type === "SettingsDeclared")) await this.#readBase();
      guard?.(this.view);
      // The names from before the snapshot are loaded by now.
      const decision = decideAll(this.#fold.facts, left, this.view.server.base);
      if (!decision.ok) return { status: "rejected", rejection: decision.error };
      const { value: decided } = decision;
      if (decided.length === 0) return { status: "committed", events: written };
      const result = await this.log.append(this.name, this.head, decided);
      const { events } = result;
      written.push(...events);
      if (result.status === "appended") {
        if (events.some(({ event }) => isFork(event))) await this.#catchUp();
        else if (!(await this.#take(events, applied))) await this.#foldAnew();
        await this.#save();
        return { status: "committed", events: written };
      }
      if (preparation === maxPreparations) throw streamContended(this.name);
      // After a partial append, the remaining events follow whatever other writers appended in between.
      if (!(await this.#take(events, applied))) await this.#foldAnew();
      const next = events.length === 0 ? undefined : decided[events.length]?.proposed;
      if (next !== undefined) left = left.slice(left.indexOf(next));
      await this.#catchUp();
    }
  }

  /** Reads the newest complete settings from before the snapshot: the next declaration may record differences from them. */
  async #readBase(): Promise<void> {
    const { base, declared } = this.view.server;
    const newest = [...declared.keys()].at(-1);
    if (base === null && newest !== undefined) await this.#fold.readSettings(this.log, newest);
  }

  get #fold(): ConversationFold {
    return this.#open.fold;
  }

  /** A fork's lineage is folded: its ancestors' events come before its own first one. */
  async #catchUp(): Promise<ConversationView> {
    const { head, skipped } = this.#fold;
    if (this.#isUnsaved && this.view.client.run === null) return this.#foldAnew();
    if (head === null) {
      this.#open = await openFold(this.log, this.name);
      this.#applied = null;
      return this.view;
    }
    try {
      for await (const recorded of readHistory(this.log, this.name, { from: head.revision + 1, skipped })) {
        // The current folds may contain the event that is to be left out.
        if (recorded.event.type === "EventSkipped") return await this.#foldAnew();
        if (this.#goesOnWith(recorded)) return await this.#dropProposed();
        if (!(await this.#take([recorded]))) return await this.#foldAnew();
      }
    } catch (error) {
      // The fold may have applied half of the event. A fold of all events finds out whether it was skipped.
      this.#open = newFold(this.log, this.name);
      this.#applied = null;
      if (error instanceof ConversationDamagedError) return this.#foldAnew();
      throw error;
    }
    await this.#save();
    return this.view;
  }

  /** False if a snapshot had wrong settings for an event. */
  async #take(events: readonly RecordedEvent[], applied: RunTurns | null = null): Promise<boolean> {
    for (const recorded of events) if (!(await takeEvent(this.log, this.#open, recorded, applied))) return false;
    const { run } = this.view.client;
    this.#applied = run !== null && (run.turns === applied || run.turns === this.#applied) ? run.turns : null;
    return true;
  }

  /**
   * Whether an event of another writer continues or ends the run that this process executes: then the log will not have what the
   * run has proposed. A late tool result does neither.
   */
  #goesOnWith({ event, runId }: Pick<ProposedEvent, "event" | "runId"> | RecordedEvent): boolean {
    const { run } = this.view.client;
    if (this.#applied === null || run === null || runId !== run.id) return false;
    return !besideRuns.has(event.type) && !(event.type === "ToolFinished" && event.data.late === true);
  }

  async #save(): Promise<void> {
    if ((await this.#open.snapshotWriter?.save()) === false) this.#isUnsaved = true;
  }

  async #foldAnew(): Promise<ConversationView> {
    this.#open = newFold(this.log, this.name);
    this.#applied = null;
    this.#isUnsaved = false;
    this.#open = await foldAnew(this.log, this.name, { keepsNames: true });
    return this.view;
  }

  #enqueue<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#queue.then(work);
    this.#queue = result.catch(() => undefined);
    return result;
  }
}

/** Events that other writers may append during a run: the caller's blocks, a cancel request, a settled call. */
const besideRuns: ReadonlySet<ConversationEvent["type"]> = new Set([
  ...(["BlockAppended", "ConversationRelabelled", "RunCancelRequested", "ToolSettled"] as const),
]);

/** Other writers appended to the conversation during each attempt. */
export const streamContended = (stream: string): TurnlogError =>
  new TurnlogError(
    "stream-contended",
    `${stream} changed ${maxPreparations} times while one append was prepared; try again`,
  );
