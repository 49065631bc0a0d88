import { DELETED_REVISION, type EventLog, metastreamOf, type StoredEvent } from "./event-log.ts";
import { metadataOf } from "./stream-metadata.ts";

/** What a reader may see of one stream: `events[first]` and all after it. */
export type VisibleStream =
  | { readonly status: "missing" }
  | { readonly status: "deleted" }
  | {
      readonly status: "readable";
      readonly events: readonly StoredEvent[];
      readonly first: number;
      readonly last: number;
    };

/** Events after which a node looks again at what was written, as the real server reads in pages of 32. */
export const PAGE_SIZE = 32;

/**
 * The stream as a node shows it that knows the first `limit` records of the log: cut by `$maxCount`, `$maxAge` and
 * `$tb`; missing where nothing was written or it was soft-deleted. Metadata streams keep one event.
 */
export function visibleStream(log: EventLog, stream: string, limit: number): VisibleStream {
  const isMetastream = stream.startsWith("$$");
  const tombstone = log.stream(isMetastream ? stream.slice(2) : stream).at(-1);
  if (tombstone?.revision === DELETED_REVISION && tombstone.index < limit) return { status: "deleted" };
  const events = log.stream(stream);
  const last = firstWhere(events, (event) => event.index >= limit) - 1;
  const ending = events[last];
  const metaEvents = log.stream(metastreamOf(stream));
  const metadata = metadataOf(metaEvents[firstWhere(metaEvents, (event) => event.index >= limit) - 1]);
  if (ending === undefined || metadata.isSoftDeleted) return { status: "missing" };
  const maxCount = isMetastream ? (metadata.maxCount ?? 1) : metadata.maxCount;
  const oldestMs = metadata.maxAgeSeconds === null ? null : log.options.now() - metadata.maxAgeSeconds * 1000;
  const shown = (event: StoredEvent): boolean =>
    event.revision >= metadata.truncateBefore &&
    (maxCount === null || event.revision > ending.revision - BigInt(maxCount)) &&
    (oldestMs === null || event.createdMs >= oldestMs);
  return { status: "readable", events, first: firstWhere(events, shown), last };
}

/** Index of the first event for which the condition holds; once it holds, it holds for all later ones. */
export function firstWhere(events: readonly StoredEvent[], holds: (event: StoredEvent) => boolean): number {
  let low = 0;
  let high = events.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const event = events[middle];
    if (event !== undefined && holds(event)) high = middle;
    else low = middle + 1;
  }
  return low;
}
