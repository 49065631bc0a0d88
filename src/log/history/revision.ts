import { kindOf } from "../../base/options.ts";
import { TurnlogError } from "../../base/turnlog-error.ts";
import { conversationOfStream } from "../../domain/ids.ts";
import type { EventStore } from "../ports/event-store.ts";

/**
 * The number of an existing revision; a negative one counts from the end.
 *
 * @throws {TurnlogError} `revision-not-found` if it does not exist.
 * @throws {TypeError} if it is not a number.
 */
export async function existingRevision(store: EventStore, stream: string, wanted: number): Promise<number> {
  const given: unknown = wanted;
  if (typeof given !== "number")
    throw new TypeError(`a revision is a number, not ${kindOf(given)}: give one from 0, or -1 for the newest`);
  const head = await store.head(stream);
  const revision = wanted < 0 ? (head?.revision ?? -1) + 1 + wanted : wanted;
  if (head !== null && Number.isInteger(revision) && revision >= 0 && revision <= head.revision) return revision;
  const range = head === null ? "it has no events" : `it has the revisions 0 to ${head.revision}`;
  const id = conversationOfStream(stream) ?? stream;
  throw new TurnlogError("revision-not-found", `there is no revision ${wanted} of ${id}: ${range}`);
}
