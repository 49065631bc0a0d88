import type { ListedConversation } from "../../analysis/lists/list.ts";
import type { RecordedEvent } from "../../domain/events/recorded.ts";
import { type ConversationId, conversationStream } from "../../domain/ids.ts";
import { tryToRead } from "../../log/codec/recorded.ts";
import type { EventStore } from "../../log/ports/event-store.ts";

/** What the newest events of a conversation say about why it waits. */
export type Tail = {
  /** When the newest answer came that a request can continue from. */
  readonly answeredAt: string | null;
  readonly left: Left;
};

/** How an open run was left: by a decision, by a process that parked it, or otherwise. */
export type Left = "decided" | "parked" | "cut-off";

/** @param type - Of the newest event of the run. */
export const leftBy = (type: string | undefined): Left =>
  type === "ApprovalDecided" || type === "ToolSettled" ? "decided" : type === "RunParked" ? "parked" : "cut-off";

/** Events that may follow the newest one of a run, and say nothing about it. */
export const besideRuns: ReadonlySet<string> = new Set([
  ...["BlockAppended", "ConversationRelabelled", "ExportMade", "LinesErased", "EventSkipped", "AncestorEventsSkipped"],
]);

/** How many events are looked at, from the newest on. */
const mostEvents = 60;

/** How many conversations are remembered. */
const mostKnown = 2_000;

/** The ends of conversations, read again once they have grown. */
export class Tails {
  readonly #events: EventStore;
  readonly #known = new Map<string, Tail>();

  constructor(events: EventStore) {
    this.#events = events;
  }

  async of({ id, events }: ListedConversation): Promise<Tail> {
    const key = `${id} ${events}`;
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const tail = await readTail(this.#events, id);
    if (this.#known.size >= mostKnown) this.#known.clear();
    this.#known.set(key, tail);
    return tail;
  }
}

async function readTail(events: EventStore, id: ConversationId): Promise<Tail> {
  const tail: { -readonly [Name in keyof Tail]: Tail[Name] } = { answeredAt: null, left: "cut-off" };
  // Answers by their inference, because the request before decides whether one can be continued from.
  const answers = new Map<string, string>();
  let [hasRunEvent, isPast] = [false, false];
  const range = { direction: "backwards", limit: mostEvents } as const;
  for await (const envelope of events.readStream(conversationStream(id), range)) {
    const recorded = await tryToRead(events, envelope);
    if (recorded instanceof Error) continue;
    const { event, at } = recorded;
    if (event.type === "ResponseReceived") answers.set(event.data.inferenceId, at);
    if (event.type === "InferenceRequested" && tail.answeredAt === null && canContinue(recorded))
      tail.answeredAt = answers.get(event.data.inferenceId) ?? null;
    if (!hasRunEvent && !besideRuns.has(event.type)) {
      hasRunEvent = true;
      tail.left = leftBy(event.type);
    }
    isPast ||= begins.has(event.type);
    if (isPast && tail.answeredAt !== null) break;
  }
  return tail;
}

/** What comes before these belongs to another run. */
const begins: ReadonlySet<string> = new Set([
  ...["RunStarted", "RunCompleted", "RunCancelled", "RunFailed", "TurnReverted", "ConversationStarted"],
]);

/** Whether a server keeps the answer of a request for the next one. */
function canContinue({ event }: RecordedEvent): boolean {
  if (event.type !== "InferenceRequested") return false;
  const { strategy, reason } = event.data.decision;
  return strategy !== "full" || reason === "first-request";
}
