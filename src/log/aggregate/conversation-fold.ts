import { anchorName } from "../../domain/anchor.ts";
import type { ConversationFacts, RunFacts } from "../../domain/decider/facts.ts";
import { namesIn } from "../../domain/decider/names.ts";
import { type ConversationEvent, isRequest } from "../../domain/events/event.ts";
import type { RecordedEvent } from "../../domain/events/recorded.ts";
import { learnedName } from "../../domain/events/server-events.ts";
import type { CompletedRun } from "../../projections/client-turn/answers.ts";
import type { OpenRun } from "../../projections/client-turn/open-run.ts";
import type { RunTurns } from "../../projections/client-turn/run-turns.ts";
import { readDeclaration, type StreamRevision } from "../../projections/server-contexts/server-contexts.ts";
import {
  applyToConversation,
  type ConversationView,
  conversationView,
} from "../../projections/views/conversation-view.ts";
import type { EventReader } from "../codec/event-log.ts";
import { rawEventAt } from "../codec/raw-reader.ts";
import { SkippedEvents } from "../history/skipped-events.ts";
import type { Head } from "../ports/event-store.ts";
import { type NameEntry, Names } from "./names.ts";

/**
 * Everything derived from a conversation's events: the state that decides commands, and the view for people and planning. It starts with
 * the first event or with a snapshot. After a snapshot, blocks are outlines and settings are known by place until they are read.
 */
export class ConversationFold {
  readonly stream: string;
  readonly names: Names;
  readonly view: ConversationView;
  /** The last revision of each ancestor's stream that it includes or has checked. */
  readonly ancestors: Map<string, number>;
  readonly skipped: SkippedEvents;
  /** The snapshot that it started from, in this stream or an ancestor's: the next one shares lists with it. */
  base: StreamRevision | null = null;
  /** The newest folded event of the stream, from any writer. Only folding sets it: otherwise an event would be folded twice. */
  head: Head | null = null;
  /** The event folded last; null if that was before the snapshot. */
  last: RecordedEvent | null = null;
  /** The latest time of any event. */
  lastAt: string | null = null;
  /** The newest event of the open run: its last sign of life. */
  lastOfRun: { readonly revision: number; readonly at: string } | null = null;

  constructor(stream: string, of: Partial<Pick<ConversationFold, "names" | "ancestors" | "skipped">> = {}) {
    const { names = new Names(), ancestors = new Map<string, number>(), skipped = new SkippedEvents() } = of;
    this.stream = stream;
    this.names = names;
    this.ancestors = ancestors;
    this.skipped = skipped;
    const view = conversationView.initial(stream);
    this.view = { ...view, client: { ...view.client, blame: null } };
  }

  /** The fold with which a fork starts: a copy of this one. */
  asOfFork(stream: string): ConversationFold {
    const { names, skipped, view, lastAt, head } = this;
    const ancestors = new Map([...this.ancestors, [this.stream, head?.revision ?? -1]]);
    const fork = new ConversationFold(stream, { names, ancestors, skipped });
    Object.assign(fork.view, view);
    Object.assign(fork, { lastAt, base: this.base });
    return fork;
  }

  /** @param applied - The Turns of the event's run, if this process already applied the event to them when it recorded it. */
  apply(recorded: RecordedEvent, applied: RunTurns | null = null): void {
    const { event, stream, revision, digest, runId, at } = recorded;
    applyToConversation(this.view, recorded, applied);
    this.last = recorded;
    for (const name of namesIn(event, runId)) this.names.set(...name, { stream, numbers: [revision] });
    if (event.type === "RunCompleted") this.#nameAnswers(revision);
    if (stream === this.stream) this.head = { revision, digest };
    else this.ancestors.set(stream, revision);
    // A tool of an earlier run may finish in the middle of this one.
    const { run } = this.view.client;
    if (run === null) this.lastOfRun = null;
    else if (runId === run.id) this.lastOfRun = { revision, at };
    if (this.lastAt === null || at > this.lastAt) this.lastAt = at;
  }

  /** A block keeps the first run that answered it; of the runs that ended with it, the newest one counts. */
  #nameAnswers(at: number): void {
    const { completed } = this.view.client.answers;
    // A run that only shortens the Turn answers nothing.
    if (completed === null || completed.run.to !== at) return;
    const { run, answered, last } = completed;
    const entry = { ...entryOfRun(run), runId: run.runId };
    for (const id of answered) if (this.names.get("answer", id) === undefined) this.names.set("answer", id, entry);
    if (last !== null) this.names.set("end", last, entry);
  }

  /** The facts for `decide`. Of the names before the snapshot, it knows only those that were looked up. */
  get facts(): ConversationFacts {
    const { names } = this;
    const { client, server, origin, title, labels } = this.view;
    return {
      ...{ origin, title, labels },
      run: client.run === null ? null : factsOf(client.run),
      hasName: (kind, name) => names.get(kind, name) !== undefined,
      isDeclared: (digest) => server.declared.has(digest),
      isLost: ({ scope, anchor }) =>
        anchor === null ? server.lostScopes.has(scope) : server.invalidResponses.has(anchorName({ scope, anchor })),
      learned: ({ scope, ...place }) => server.learned.get(scope)?.get(learnedName(place)),
      isQuarantined: (blockId) => server.quarantined.has(blockId),
    };
  }

  /** The digest of settings that an event needs and that were not read; null if none are missing. */
  lacks({ event }: RecordedEvent): string | null {
    const digest = settingsAskedFor(event);
    if (digest === null) return null;
    const { settings, declared } = this.view.server;
    return declared.has(digest) && !settings.has(digest) ? digest : null;
  }

  /** Reads settings declared before the snapshot into the view. Returns false if they are not where the snapshot says. */
  async readSettings(reader: EventReader, digest: string): Promise<boolean> {
    const { settings, declared } = this.view.server;
    const place = declared.get(digest);
    if (place === undefined || settings.has(digest)) return true;
    const { event, hasErased } = (await rawEventAt(reader, place.stream, place.revision)) ?? {};
    if (event?.type !== "SettingsDeclared" || event.data.digest !== digest) return false;
    const { base } = event.data;
    if (base !== undefined && !(declared.has(base) && (await this.readSettings(reader, base)))) return false;
    return readDeclaration(this.view.server, event.data, hasErased === true);
  }
}

/** The settings that an event uses or differs from. */
function settingsAskedFor(event: ConversationEvent): string | null {
  if (event.type === "SettingsDeclared") return event.data.base ?? null;
  return isRequest(event) || event.type === "RunStarted" ? event.data.settingsDigest : null;
}

function factsOf({ id, epoch, cancelRequest, inferences, effects, approvals }: OpenRun): RunFacts {
  return {
    ...{ id, epoch, isCancelRequested: cancelRequest !== null },
    inference(inferenceId) {
      const inference = inferences.get(inferenceId);
      return inference && (inference.isOpen ? "open" : "closed");
    },
    effect: (effectId) => effects.get(effectId),
    approval(blockId) {
      const approval = approvals.get(blockId);
      return approval && { inputDigest: approval.asked.inputDigest, decision: approval.decision?.data ?? null };
    },
  };
}

/** The run that an entry of an answered block, or of the block that a run ended with, refers to. */
export function completedRun({ stream, numbers }: NameEntry, runId: string): CompletedRun {
  const [from = 0, to = 0, brought = 0] = numbers;
  return { runId, stream, from, to, brought };
}

export const entryOfRun = ({ stream, from, to, brought }: CompletedRun): NameEntry => ({
  stream,
  numbers: [from, to, brought],
});
