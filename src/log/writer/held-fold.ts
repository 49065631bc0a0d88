import { changesEarlier } from "../../domain/events/changes-earlier.ts";
import type { ConversationEvent } from "../../domain/events/event.ts";
import type { ProposedEvent, RecordedEvent } from "../../domain/events/recorded.ts";
import type { RunTurns } from "../../projections/client-turn/run-turns.ts";
import { ConversationDamagedError } from "../../projections/damage.ts";
import type { ConversationView } from "../../projections/views/conversation-view.ts";
import type { ConversationFold } from "../aggregate/conversation-fold.ts";
import { takeEvent } from "../aggregate/fold.ts";
import type { EventLog } from "../codec/event-log.ts";
import { readHistory } from "../history/lineage.ts";
import { foldAnew, newFold, type OpenFold, openFold } from "../snapshots/open.ts";

/**
 * The fold of a conversation that its writer holds, at the head that this process knows. It continues with new events, from here and from
 * others, and starts over if it cannot. The writer calls these methods one after another.
 */
export class HeldFold {
  readonly #log: EventLog;
  readonly #name: string;
  #open: OpenFold;
  /** The snapshots that the next one would build on were deleted: the fold starts over when it next catches up. */
  #isUnsaved = false;
  /** The Turns of the open run, if this process executes it: its proposed events are applied to them before they are appended. */
  #applied: RunTurns | null = null;

  constructor(log: EventLog, name: string) {
    this.#log = log;
    this.#name = name;
    this.#open = newFold(log, name);
  }

  get open(): OpenFold {
    return this.#open;
  }

  get fold(): ConversationFold {
    return this.#open.fold;
  }

  /** Reads what others wrote. A fork is folded as its lineage: its ancestors' events come before its own first one. */
  async catchUp(): Promise<ConversationView> {
    const { head, skipped, view } = this.fold;
    if (this.#isUnsaved && view.client.run === null) return this.foldAnew();
    if (head === null) {
      this.#open = await openFold(this.#log, this.#name);
      this.#applied = null;
      return this.fold.view;
    }
    try {
      for await (const recorded of readHistory(this.#log, this.#name, { from: head.revision + 1, skipped })) {
        // The folds may hold events that are to be left out, or content that was erased.
        if (changesEarlier(recorded.event)) return await this.foldAnew();
        if (this.goesOnWith(recorded)) return await this.dropProposed();
        if (!(await this.take([recorded]))) return await this.foldAnew();
      }
    } catch (error) {
      // A fold that took in half of an event is useless. A fold of all events shows whether that event was skipped.
      this.#open = newFold(this.#log, this.#name);
      this.#applied = null;
      if (error instanceof ConversationDamagedError) return this.foldAnew();
      throw error;
    }
    await this.save();
    return this.fold.view;
  }

  /**
   * Applies further events. Returns false if a snapshot was wrong about something that an event depends on.
   *
   * @param applied - The Turns of the events' run, if its process has already applied the events to them.
   */
  async take(events: readonly RecordedEvent[], applied: RunTurns | null = null): Promise<boolean> {
    for (const recorded of events) if (!(await takeEvent(this.#log, this.#open, recorded, applied))) return false;
    const { run } = this.fold.view.client;
    this.#applied = run !== null && (run.turns === applied || run.turns === this.#applied) ? run.turns : null;
    return true;
  }

  /** Discards what a run of this process proposed and will not append: the fold returns to the state of the log. */
  async dropProposed(): Promise<ConversationView> {
    if (this.#applied === null) return this.fold.view;
    this.#open = newFold(this.#log, this.#name);
    this.#applied = null;
    return this.catchUp();
  }

  /**
   * Whether another writer's event continues or ends the run that this process executes: then the log will not have what the run proposed.
   * A late result of a tool does neither.
   */
  goesOnWith({ event, runId }: Pick<ProposedEvent, "event" | "runId"> | RecordedEvent): boolean {
    const { run } = this.fold.view.client;
    if (this.#applied === null || run === null || runId !== run.id) return false;
    return !besideRuns.has(event.type) && !(event.type === "ToolFinished" && event.data.late === true);
  }

  /** Saves a snapshot if one is due. */
  async save(): Promise<void> {
    if ((await this.#open.snapshotWriter?.save()) === false) this.#isUnsaved = true;
  }

  /** Starts over from the first event, without a snapshot. */
  async foldAnew(): Promise<ConversationView> {
    this.#open = newFold(this.#log, this.#name);
    this.#applied = null;
    this.#isUnsaved = false;
    this.#open = await foldAnew(this.#log, this.#name, { keepsNames: true });
    return this.fold.view;
  }
}

/** The events that others may record during a run: what its caller appends, a request to end it, the outcome of a call in doubt. */
const besideRuns: ReadonlySet<ConversationEvent["type"]> = new Set([
  ...(["BlockAppended", "ConversationRelabelled", "RunCancelRequested", "ToolSettled"] as const),
]);
