import type { EventStore } from "../ports/event-store.ts";

/** There is no such revision. */
export class RevisionNotFoundError extends Error {
  override readonly name = "RevisionNotFoundError";
  readonly code = "revision-not-found";
}

/**
 * The number of a revision that is there; a negative one counts from the end.
 *
 * @throws {RevisionNotFoundError} when it is not.
 */
export async function existingRevision(store: EventStore, stream: string, wanted: number): Promise<number> {
  const head = await store.head(stream);
  const revision = wanted < 0 ? (head?.revision ?? -1) + 1 + wanted : wanted;
  if (head !== null && Number.isInteger(revision) && revision >= 0 && revision <= head.revision) return revision;
  const range = head === null ? "it has no events" : `it has the revisions 0 to ${head.revision}`;
  throw new RevisionNotFoundError(`there is no revision ${wanted} of ${stream}: ${range}`);
}
