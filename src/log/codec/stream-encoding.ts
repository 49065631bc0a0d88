import { type JsonObject, objectOf, textOrNull } from "../../base/json.ts";
import { conversationOfStream } from "../../domain/ids.ts";
import { type EventStore, envelopeAt, type StoredEnvelope } from "../ports/event-store.ts";
import type { DataEncoding } from "./data.ts";
import type { NewEvent } from "./prepare.ts";

/** What an append needs to know of the event that it follows: its time, null at a stream's beginning, and how the stream is written. */
export type NewestEvent = { readonly at: string | null; readonly encoding: DataEncoding };

/** How a stream is written, by one of its events. */
export const encodingOf = (stored: Pick<StoredEnvelope, "encoding"> | null): DataEncoding =>
  stored?.encoding === "lines" ? "lines" : "json";

const asJson: NewestEvent = { at: null, encoding: "json" };
const asLines: NewestEvent = { at: null, encoding: "lines" };

/**
 * How a stream's first events are written. A conversation is written as lines where the store takes them. A fork is written as its parent
 * is, because both use one naming key. All other streams hold records or blobs, which are erased as a whole.
 */
export function beginsAs(
  store: EventStore,
  stream: string,
  { wanted, events: [first] }: { readonly wanted: DataEncoding; readonly events: readonly NewEvent[] },
): NewestEvent | Promise<NewestEvent> {
  if (store.takesLines === undefined || conversationOfStream(stream) === null) return asJson;
  const parent = forkParent(first?.event.data ?? {});
  const { revision } = objectOf(first?.event.data["origin"]);
  if (parent !== null && typeof revision === "number") return asParent(store, parent, revision);
  if (wanted === "json") return asJson;
  const takes = store.takesLines();
  return takes instanceof Promise ? takes.then(chosen) : chosen(takes);
}

/** The id of the parent, from the data of a fork's first event, which is the same in every version; null for other events. */
export function forkParent({ origin }: JsonObject): string | null {
  const { type, conversationId } = objectOf(origin);
  return type === "fork" ? textOrNull(conversationId) : null;
}

const chosen = (takesLines: boolean): NewestEvent => (takesLines ? asLines : asJson);

async function asParent(store: EventStore, parent: string, revision: number): Promise<NewestEvent> {
  const stored = await envelopeAt(store, `conversation-${parent}`, revision);
  return { at: null, encoding: encodingOf(stored) };
}
