import { anchorName } from "../../domain/anchor.ts";
import { type ConversationEvent, isRequest } from "../../domain/events/event.ts";
import type { RecordedEvent } from "../../domain/events/recorded.ts";
import { learnedName } from "../../domain/events/server-events.ts";
import type { ConversationFacts, RunFacts } from "../../domain/facts.ts";
import { namesIn } from "../../domain/names.ts";
import { Turn } from "../../domain/turn.ts";
import type { AnswersView, CompletedRun } from "../../projections/answers.ts";
import { applyToConversation, type ConversationView, conversationView } from "../../projections/conversation-view.ts";
import type { OpenRun } from "../../projections/open-run.ts";
import type { RunTurns } from "../../projections/run-turns.ts";
import { type EventPlace, readDeclaration } from "../../projections/server-contexts.ts";
import { type EventReader, eventAt } from "../codec/event-log.ts";
import { SkippedEvents } from "../history/skipped-events.ts";
import type { Head } from "../ports/event-store.ts";
import type { SnapshotStore } from "../ports/snapshot-store.ts";
import { turnOfChunks } from "./chunks.ts";
import { readList } from "./lists.ts";
import { type NameEntry, type NameKind, Names } from "./names.ts";
import { restoreFacts, type SavedFacts, savedFacts } from "./server-context-rows.ts";
import type { Snapshot } from "./snapshot.ts";

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
  base: EventPlace | null = null;
  /** Of the newest event of the stream that was folded, from any writer: set by anything else, an event would be folded twice. */
  head: Head | null = null;
  /** The event that was folded last; null where that was before the snapshot. */
  last: RecordedEvent | null = null;
  /** The latest time that an event has. */
  lastAt: string | null = null;
  /** The newest event of the run that is open: its last sign of life. */
  lastOfRun: { readonly revision: number; readonly at: string } | null = null;

  constructor(stream: string, of: Partial<Pick<ConversationFold, "names" | "ancestors" | "skipped">> = {}) {
    const { names = new Names([]), ancestors = new Map<string, number>(), skipped = new SkippedEvents() } = of;
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
    for (const name of namesIn(event, runId)) this.names.hold(...name, { stream, numbers: [revision] });
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
      hasName: (kind, name) => names.held(kind, name) !== undefined,
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
    const event = (await eventAt(reader, place.stream, place.revision))?.event;
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
    const held = names.held(kind, name);
    return held === undefined ? undefined : completedRun(held, held.runId ?? "");
  },
  set(name, { runId, stream, from, to, brought }) {
    names.hold(kind, name, { stream, numbers: [from, to, brought], runId });
  },
});

/** The run that an entry of a Turn, or of an answered block, stands for. */
export function completedRun({ stream, numbers }: NameEntry, runId: string): CompletedRun {
  const [from = 0, to = 0, brought = 0] = numbers;
  return { runId, stream, from, to, brought };
}

/** The fold that a snapshot saved; undefined when a list that it names cannot be read, or is of something else. */
export async function restoreFold(
  store: SnapshotStore,
  stream: string,
  { revision, digest, data }: Snapshot,
): Promise<ConversationFold | undefined> {
  const textByName = new Map<string, string>();
  for (const [name] of [...data.turn, ...data.newest.flatMap(({ rest }) => rest)]) {
    const text = textByName.get(name) ?? (await readList(store, { stream, name }));
    if (text === undefined) return undefined;
    textByName.set(name, text);
  }
  const rows = await readFacts(store, { stream, name: data.facts });
  if (rows === undefined) return undefined;
  const names = new Names(rows.flatMap((each) => each.names));
  const skipped = new SkippedEvents();
  for (const place of data.skipped) skipped.add(...place);
  const fold = new ConversationFold(stream, { names, ancestors: new Map(data.ancestors), skipped });
  const { view } = fold;
  const { client, server, newest } = view;
  for (const each of rows) restoreFacts(server, each);
  const lists = { stream, textByName };
  client.committed = turnOfChunks(Turn.empty, data.turn, lists);
  for (const { scope, inferenceId, shared, rest } of data.newest) {
    const context = server.contexts.ofInference(inferenceId);
    if (context === null) return undefined;
    newest.set(scope, { context, turn: turnOfChunks(client.committed.slice(shared), rest, lists) });
  }
  const { answeredBy, cameBackTo, answeredLength, interrupted, origin, title, labels, spent, lastAt } = data;
  Object.assign(client.answers, { answeredBy, cameBackTo, answeredLength, interrupted });
  Object.assign(view, { origin, title, labels, spent });
  for (const scope of data.lostScopes) server.lostScopes.add(scope);
  Object.assign(fold, { head: { revision, digest }, lastAt, base: { stream, revision } });
  return fold;
}

/** All facts, oldest first; undefined when one of them cannot be read. */
export async function readFacts(
  store: SnapshotStore,
  newest: { readonly stream: string; readonly name: string | null },
): Promise<readonly SavedFacts[] | undefined> {
  const lists: SavedFacts[] = [];
  for (let { name } = newest; name !== null; name = lists.at(-1)?.before ?? null) {
    const text = await readList(store, { stream: newest.stream, name });
    const facts = text === undefined ? undefined : savedFacts(text);
    if (facts === undefined) return undefined;
    lists.push(facts);
  }
  return lists.reverse();
}
