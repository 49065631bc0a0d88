import { anchorName } from "../../domain/anchor.ts";
import { type ConversationEvent, isRequest } from "../../domain/events/event.ts";
import type { RecordedEvent } from "../../domain/events/recorded.ts";
import { learnedName } from "../../domain/events/server-events.ts";
import type { ConversationFacts, RunFacts } from "../../domain/facts.ts";
import { namesIn } from "../../domain/names.ts";
import type { AnswersView, CompletedRun } from "../../projections/answers.ts";
import { applyToConversation, type ConversationView, conversationView } from "../../projections/conversation-view.ts";
import type { OpenRun } from "../../projections/open-run.ts";
import type { RunTurns } from "../../projections/run-turns.ts";
import { readDeclaration, type StreamRevision } from "../../projections/server-contexts.ts";
import type { EventReader } from "../codec/event-log.ts";
import { rawEventAt } from "../codec/raw-reader.ts";
import { SkippedEvents } from "../history/skipped-events.ts";
import type { Head } from "../ports/event-store.ts";
import { type NameEntry, type NameKind, Names } from "./names.ts";

/**
 * All that the events of a conversation make: what decides commands, and what people and planning look at. It begins with
 * the first event, or with a snapshot: then blocks are outlines, and settings known by their place, until they are read.
 */
export class ConversationFold {
  readonly stream: string;
  readonly names: Names;
  readonly view: ConversationView;
  /** How far each ancestor's stream goes into it, or was looked at. */
  readonly ancestors: Map<string, number>;
  readonly skipped: SkippedEvents;
  /** The snapshot that it began with, in this stream or in an ancestor's: the next one shares lists with it. */
  base: StreamRevision | null = null;
  /** Of the newest event of the stream that was folded, from any writer: set by anything else, an event would be folded twice. */
  head: Head | null = null;
  /** The event that was folded last; null where that was before the snapshot. */
  last: RecordedEvent | null = null;
  /** The latest time that an event has. */
  lastAt: string | null = null;
  /** The newest event of the run that is open: its last sign of life. */
  lastOfRun: { readonly revision: number; readonly at: string } | null = null;

  constructor(stream: string, of: Partial<Pick<ConversationFold, "names" | "ancestors" | "skipped">> = {}) {
    const { names = new Names(), ancestors = new Map<string, number>(), skipped = new SkippedEvents() } = of;
    this.stream = stream;
    this.names = names;
    this.ancestors = ancestors;
    this.skipped = skipped;
    const view = conversationView.initial(stream);
    const answers: AnswersView = {
      ...view.client.answers,
      byBlock: answered(names, "answer"),
      byTurn: answered(names, "turn"),
    };
    this.view = { ...view, client: { ...view.client, blame: null, answers } };
  }

  /** The fold of a fork, which begins where this one ends. */
  asOfFork(stream: string): ConversationFold {
    const { names, skipped, view, lastAt, head } = this;
    const ancestors = new Map([...this.ancestors, [this.stream, head?.revision ?? -1]]);
    const fork = new ConversationFold(stream, { names, ancestors, skipped });
    Object.assign(fork.view, view);
    Object.assign(fork, { lastAt, base: this.base });
    return fork;
  }

  /** @param applied - The Turns of the event's run, where this process applied the event to them when it recorded it. */
  apply(recorded: RecordedEvent, applied: RunTurns | null = null): void {
    const { event, stream, revision, digest, runId, at } = recorded;
    applyToConversation(this.view, recorded, applied);
    this.last = recorded;
    for (const name of namesIn(event, runId)) this.names.set(...name, { stream, numbers: [revision] });
    if (stream === this.stream) this.head = { revision, digest };
    else this.ancestors.set(stream, revision);
    // A tool of an earlier run may come back in the middle of this one.
    const { run } = this.view.client;
    if (run === null) this.lastOfRun = null;
    else if (runId === run.id) this.lastOfRun = { revision, at };
    if (this.lastAt === null || at > this.lastAt) this.lastAt = at;
  }

  /** What `decide` asks. Of names that a snapshot left aside, it knows those that were looked up. */
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

  /** The digest of settings that an event is understood with, and that were not read; null where nothing is lacking. */
  lacks({ event }: RecordedEvent): string | null {
    const digest = settingsAskedFor(event);
    if (digest === null) return null;
    const { settings, declared } = this.view.server;
    return declared.has(digest) && !settings.has(digest) ? digest : null;
  }

  /** Puts settings into the view that were declared before its snapshot. False when they are not where that has them. */
  async readSettings(reader: EventReader, digest: string): Promise<boolean> {
    const { settings, declared } = this.view.server;
    const place = declared.get(digest);
    if (place === undefined || settings.has(digest)) return true;
    const event = (await rawEventAt(reader, place.stream, place.revision))?.event;
    if (event?.type !== "SettingsDeclared" || event.data.digest !== digest) return false;
    const { base } = event.data;
    if (base !== undefined && !(declared.has(base) && (await this.readSettings(reader, base)))) return false;
    return readDeclaration(this.view.server, event.data);
  }
}

/** The settings that an event is of, or differs from. */
function settingsAskedFor(event: ConversationEvent): string | null {
  if (event.type === "SettingsDeclared") return event.data.base ?? null;
  return isRequest(event) || event.type === "RunStarted" ? event.data.settingsDigest : null;
}

function factsOf({ id, epoch, cancelRequest, inferences, effects }: OpenRun): RunFacts {
  return {
    ...{ id, epoch, isCancelRequested: cancelRequest !== null },
    inference(inferenceId) {
      const inference = inferences.get(inferenceId);
      return inference && (inference.isOpen ? "open" : "closed");
    },
    effect: (effectId) => effects.get(effectId),
  };
}

const answered = (names: Names, kind: NameKind): AnswersView["byTurn"] => ({
  get(name) {
    const held = names.get(kind, name);
    return held === undefined ? undefined : completedRun(held, held.runId ?? "");
  },
  set(name, { runId, stream, from, to, brought }) {
    names.set(kind, name, { stream, numbers: [from, to, brought], runId });
  },
});

/** The run that an entry of a Turn, or of an answered block, stands for. */
export function completedRun({ stream, numbers }: NameEntry, runId: string): CompletedRun {
  const [from = 0, to = 0, brought = 0] = numbers;
  return { runId, stream, from, to, brought };
}
