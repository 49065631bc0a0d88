import type { Conversation } from "../conversation/conversation.ts";
import type { TurnlogStore } from "../conversation/turnlog-store.ts";
import { isActor } from "../domain/actor.ts";
import { conversationStream } from "../domain/ids.ts";
import { tryToRead } from "../log/codec/recorded.ts";
import type { StoredEnvelope } from "../log/ports/event-store.ts";
import { ConversationDamagedError } from "../projections/damage.ts";
import { type TimelineView, timeline } from "../projections/timeline.ts";
import { excerpt } from "../projections/wording.ts";
import { changedBy, differenceOf } from "./difference.ts";
import type { LoggedEvent } from "./documents/conversations.ts";
import type { FilteredEvent } from "./event-filter.ts";
import { TurnChanges } from "./turn-changes.ts";

type Asked = {
  readonly store: TurnlogStore;
  readonly conversation: Conversation;
  /** Whether every event comes with what it changed. */
  readonly isPatched: boolean;
};

/** Puts the events of one conversation into words, one after another from its first. */
export class EventTeller {
  readonly #store: TurnlogStore;
  readonly #changes: TurnChanges | null;
  #view: TimelineView;

  private constructor(store: TurnlogStore, view: TimelineView, changes: TurnChanges | null) {
    this.#store = store;
    this.#view = view;
    this.#changes = changes;
  }

  /** Before the first event: a fork's events name blocks that its ancestors made. */
  static async of({ store, conversation, isPatched }: Asked): Promise<EventTeller> {
    const inherited = await readInherited(conversation);
    return new EventTeller(store, inherited, isPatched ? await TurnChanges.of(store, conversation) : null);
  }

  /** Whether damage was come to, from which on nobody knows what events changed. */
  get isLost(): boolean {
    return this.#changes?.isLost ?? false;
  }

  /** The next event: as it is told, and what a filter looks at. */
  async tell(envelope: StoredEnvelope): Promise<{ readonly told: LoggedEvent; readonly seen: FilteredEvent }> {
    const changes = this.#changes;
    const recorded = await tryToRead(this.#store.events, envelope);
    if (recorded instanceof Error) {
      const told = { ...unreadable(envelope, recorded), ...(changes === null ? {} : { changes: null }) };
      return { told, seen: { ...told, data: null } };
    }
    this.#view = timeline.apply(this.#view, recorded);
    // A row was added for this event, and no other is asked for again.
    const row = this.#view.rows.splice(0).at(-1);
    if (row === undefined) throw new Error("the timeline has no row for an event");
    const change = changes?.take(recorded) ?? null;
    // What one event changed, it changed under its own name; the engine hands on what tools said.
    const changers = changedBy(row.actor.kind === "engine" ? null : row.actor);
    const difference = change === null ? null : differenceOf(change.difference, change, changers);
    const told = { problem: null, ...row, ...(changes === null ? {} : { changes: difference }) };
    return { told, seen: { ...told, data: recorded.event.data } };
  }
}

async function readInherited(conversation: Conversation): Promise<TimelineView> {
  const stream = conversationStream(conversation.id);
  let view = timeline.initial(stream);
  try {
    for await (const recorded of conversation.history(0)) {
      if (recorded.stream !== stream) view = timeline.apply(view, recorded);
    }
  } catch (error) {
    // What is damaged there takes labels away, and nothing else.
    if (!(error instanceof ConversationDamagedError)) throw error;
  }
  return view;
}

function unreadable(envelope: StoredEnvelope, error: Error): LoggedEvent {
  const { stream, revision, at, type, runId = null, frame = null } = envelope;
  const actor = isActor(envelope.actor) ? envelope.actor : null;
  const problem = excerpt(error.message, 160);
  return { stream, revision, at, actor, type, runId, frame, words: `${excerpt(type, 40)} cannot be read`, problem };
}
