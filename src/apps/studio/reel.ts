import { type BlockLabels, noteLabels } from "../../analysis/descriptions/labels.ts";
import { shownText } from "../../analysis/descriptions/shown-text.ts";
import { grouped } from "../../base/counted.ts";
import { excerpt } from "../../base/printable.ts";
import { blockFromJson } from "../../domain/block-json.ts";
import { contentId, type Edit } from "../../domain/edits.ts";
import { changesEarlier } from "../../domain/events/changes-earlier.ts";
import { type ConversationEventOf, isRunEnd } from "../../domain/events/event.ts";
import type { RecordedEvent } from "../../domain/events/recorded.ts";
import { type ConversationId, conversationStream } from "../../domain/ids.ts";
import { Turn } from "../../domain/turn.ts";
import { checkEnvelope } from "../../log/codec/envelope.ts";
import { isErased } from "../../log/codec/erased.ts";
import type { EventLog } from "../../log/codec/event-log.ts";
import { type ChangedEvent, watchedLog } from "../../log/codec/watched-log.ts";
import { readHistory } from "../../log/history/lineage.ts";
import { lookAt, skipOf } from "../../log/history/read-events.ts";
import { SkippedEvents } from "../../log/history/skipped-events.ts";
import type { Head, StoredEnvelope } from "../../log/ports/event-store.ts";
import { skippedOf } from "../../log/snapshots/open.ts";
import { ConversationDamagedError } from "../../projections/damage.ts";
import type { ConversationView } from "../../projections/views/conversation-view.ts";
import { applyToFolds, copiedFolds, type DocumentFolds, emptyFolds } from "./document-folds.ts";
import { holeRow, logRow, unreadableRow } from "./log-row.ts";
import { LogRows } from "./log-rows.ts";
import type { LogGroup, LogRow, OverviewDocument } from "./page-documents.ts";
import { CostReader } from "./request-costs.ts";
import { Rungs } from "./rungs.ts";
import { HeldBytes, noteOutcome, type Step, stepOf } from "./step.ts";

export type ReelOptions = {
  readonly isRedacted?: boolean;
  /** How many events are between two rungs at first. */
  readonly gap?: number;
};

/**
 * A conversation read once, from its first event to its newest, with what the page asks for at any revision. Turns are immutable and share
 * what they have in common, so that keeping one for each event costs little, and a step to any revision folds nothing.
 */
export class Reel {
  readonly id: ConversationId;
  readonly rows = new LogRows();
  readonly groups: FoldedGroup[] = [];
  readonly steps: Step[] = [];
  /** The Turn after each event: while a run is open, the one that was handed on last, with what waits for its end. */
  readonly turns: Turn[] = [];
  /** What each `TurnEdited` touched, by revision. */
  readonly touched = new Map<number, ReadonlySet<string>>();
  /** By name, in the order of runs' stacks; the value says whether it is the engine's own. */
  readonly layers = new Map<string, boolean>();
  /** How many runs began. */
  runs = 0;
  readonly costs: CostReader;
  /** Folds at earlier revisions; none from damage on. */
  readonly rungs: Rungs<DocumentFolds>;
  /** What folds leave out. */
  readonly skipped: SkippedEvents;
  /** Events of ancestors whose data has changed since they were written. */
  changedBefore: readonly ChangedEvent[] = [];
  readonly #folds: DocumentFolds;
  readonly #log: EventLog;
  readonly #held = new HeldBytes();
  #head: Head | null = null;
  #damage: OverviewDocument["damage"] = null;
  #isOutdated = false;
  #catchingUp: Promise<void> | null = null;

  /** Whether the texts are masked: digests then do not follow from them. */
  readonly isRedacted: boolean;

  private constructor(log: EventLog, id: ConversationId, given: { readonly skipped: SkippedEvents } & ReelOptions) {
    const { skipped, isRedacted = false, gap } = given;
    this.id = id;
    this.isRedacted = isRedacted;
    this.#log = log;
    this.skipped = skipped;
    this.rungs = new Rungs(gap);
    this.#folds = emptyFolds(conversationStream(id));
    this.costs = new CostReader(conversationStream(id));
  }

  /** Reads all of it: once, unless it is damaged. Only then may folds leave something out, which takes a fold to find. */
  static async open(log: EventLog, id: ConversationId, options: ReelOptions = {}): Promise<Reel> {
    const reel = await Reel.#read(log, id, { skipped: new SkippedEvents(), ...options });
    if (reel.damage === null) return reel;
    const skipped = await skippedOf(log, conversationStream(id));
    const [first] = skipped;
    return first === undefined ? reel : Reel.#read(log, id, { skipped, ...options });
  }

  static async #read(
    log: EventLog,
    id: ConversationId,
    given: { readonly skipped: SkippedEvents } & ReelOptions,
  ): Promise<Reel> {
    const reel = new Reel(log, id, given);
    await reel.#takeAncestors(conversationStream(id));
    await reel.catchUp();
    return reel;
  }

  get view(): ConversationView {
    return this.#folds.view;
  }

  get labels(): BlockLabels {
    return this.#folds.words;
  }

  get head(): Head | null {
    return this.#head;
  }

  /** Whether events that were read here have been erased, in whole or in part, or left out since. */
  get isOutdated(): boolean {
    return this.#isOutdated;
  }

  get damage(): OverviewDocument["damage"] {
    return this.#damage;
  }

  /** Reads what was recorded since. Callers at the same time share one read. */
  catchUp(): Promise<void> {
    this.#catchingUp ??= this.#readOn().finally(() => {
      this.#catchingUp = null;
    });
    return this.#catchingUp;
  }

  async #readOn(): Promise<void> {
    const from = this.rows.length;
    const stream = conversationStream(this.id);
    for await (const envelope of this.#log.store.readStream(stream, { from })) {
      this.#isOutdated ||= from > 0 && (isErased(envelope) || changesEarlier(envelope));
      const checked = this.isRedacted ? unchecked : checkEnvelope(this.#head, envelope);
      this.#head = { revision: envelope.revision, digest: envelope.digest };
      const skip = this.skipped.has(stream, envelope.revision) ? await skipOf(this.#log, envelope, this.skipped) : null;
      if (skip !== null) {
        this.#add(holeRow(envelope, skip));
        groupWith(this.groups, envelope);
        continue;
      }
      const recorded = lookAt(this.#log, envelope);
      // Most events name no blob: await only promises, because each wait costs time.
      this.#take(envelope, recorded instanceof Promise ? await recorded : recorded, checked);
    }
  }

  #take(
    envelope: StoredEnvelope,
    recorded: RecordedEvent | Error,
    checked: ReturnType<typeof checkEnvelope> | typeof unchecked,
  ): void {
    if (recorded instanceof Error) {
      this.#noteDamage(envelope.revision, "cannot be read", recorded.message);
      this.#add(unreadableRow(envelope, recorded));
      groupWith(this.groups, envelope);
      return;
    }
    if (!checked.ok) this.#noteDamage(envelope.revision, "is not what was written", checked.error.reason);
    noteLabels(this.labels, recorded);
    this.#noteStack(recorded);
    this.#fold(recorded);
    const row = logRow(recorded, { labels: this.labels, run: this.view.client.run });
    this.#add(checked.ok ? row : { ...row, sign: "bad", problem: checked.error.reason });
    groupAfter(this.groups, recorded, { isOpen: this.view.client.run !== null });
  }

  #add(row: LogRow): void {
    this.rows.add(row);
    this.turns.push(this.#spoken());
  }

  #spoken(): Turn {
    if (this.#damage !== null) return this.turns.at(-1) ?? Turn.empty;
    const { run, committed } = this.view.client;
    return run === null ? committed : run.turns.get(run.turns.newest).concat(run.pending);
  }

  #noteDamage(revision: number, what: string, message: string): void {
    this.#damage ??= { revision, title: `Event r${grouped(revision)} ${what}`, message };
  }

  #noteStack({ event }: RecordedEvent): void {
    if (event.type !== "RunStarted" && event.type !== "RunResumed") return;
    if (event.type === "RunStarted") this.runs += 1;
    for (const [place, { name }] of event.data.stack.entries())
      if (!this.layers.has(name)) this.layers.set(name, place === 0 && name === "tool-loop");
  }

  /** From damage on, nothing more is folded: what events did there is unknown. */
  #fold(recorded: RecordedEvent): void {
    if (this.#damage !== null) return;
    try {
      applyToFolds(this.#folds, recorded);
    } catch (error) {
      if (!(error instanceof ConversationDamagedError)) throw error;
      this.#noteDamage(recorded.revision, "contradicts the events before it", error.message);
      return;
    }
    // Of masked texts, the documents say of each event that its data has changed: a rung would have to keep them all.
    if (!this.isRedacted && this.rungs.isDue(recorded.revision))
      this.rungs.add(recorded.revision, copiedFolds(this.#folds));
    const { event } = recorded;
    if (event.type === "TurnEdited") this.touched.set(recorded.revision, touchedBy(event.data));
    const step = stepOf(recorded, this.view, this.#held);
    this.#held.note(recorded);
    const cost = this.costs.take(recorded);
    if (step === null) noteOutcome(this.steps, recorded, { view: this.view, cost });
    else this.steps.push(step);
  }

  async #takeAncestors(own: string): Promise<void> {
    const watched = watchedLog(this.#log);
    try {
      for await (const recorded of readHistory(watched.log, own, { to: 0, skipped: this.skipped })) {
        if (recorded.stream === own) continue;
        noteLabels(this.labels, recorded);
        this.#noteStack(recorded);
        applyToFolds(this.#folds, recorded);
      }
      this.changedBefore = watched.changed();
    } catch (error) {
      if (!(error instanceof ConversationDamagedError)) throw error;
      this.#damage ??= { revision: 0, title: "What it was forked from is damaged", message: error.message };
    }
  }
}

const unchecked = { ok: true } as const;

/** The ids of the blocks that a layer's pass changed. */
const touchedBy = ({ edits }: ConversationEventOf<"TurnEdited">["data"]): ReadonlySet<string> =>
  new Set(edits.flatMap(idsIn));

function idsIn(edit: Edit): readonly string[] {
  switch (edit.op) {
    case "insert":
      return edit.blocks.map(contentId);
    case "remove":
      return edit.blockIds;
    default:
      return [edit.blockId];
  }
}

/** A group while it may still grow. */
type FoldedGroup = { -readonly [Name in keyof Omit<LogGroup, "worst">]: LogGroup[Name] } & {
  /** Whether a run of it has begun. */
  hasRun: boolean;
  isTitled: boolean;
};

/** A message, and the run that answers it, fold to one row: a message after a run begins the next. */
function groupAfter(
  groups: FoldedGroup[],
  { event, revision }: RecordedEvent,
  { isOpen }: { readonly isOpen: boolean },
): void {
  const group = groupWith(groups, { revision, type: event.type });
  const isMessage = event.type === "BlockAppended" && event.data.block.kind === "user";
  if (isMessage && !group.isTitled) {
    group.words = excerpt(shownText(blockFromJson(event.data.block)), 80);
    group.isTitled = true;
  }
  if (event.type === "RunStarted") group.hasRun = true;
  if (group.hasRun) group.state = isOpen ? "open" : group.state === "open" ? "done" : group.state;
  if (isRunEnd(event) && event.type !== "RunCompleted") group.state = "failed";
}

/** The group that an event is in, by its type alone: also of one that cannot be read, or that was skipped. */
function groupWith(
  groups: FoldedGroup[],
  { revision, type }: { readonly revision: number; readonly type: string },
): FoldedGroup {
  let group = groups.at(-1);
  const isNext = group?.hasRun === true && group.state !== "open";
  if (group === undefined || (isNext && startsGroup(type))) {
    group = { from: revision, to: revision, words: "", state: "done", hasRun: false, isTitled: false };
    groups.push(group);
  }
  group.to = revision;
  return group;
}

const startsGroup = (type: string): boolean =>
  ["BlockAppended", "RunStarted", "TurnReverted", "TurnCompacted", "SettingsDeclared"].includes(type);
