import { TurnlogError } from "../../base/turnlog-error.ts";
import type { EventStore } from "../../log/ports/event-store.ts";
import { type CatchUpOptions, createRowProjector, type RowProjector } from "../../log/read-models/row-projector.ts";
import type { Projection } from "../../projections/projection.ts";
import { createMemoryViews } from "../../stores/memory/views.ts";

/**
 * Reads from rows that have all events. If rows cannot be saved (a file that may only be read, a full disk) or cannot be read (damage),
 * they are built in memory for this one time.
 */
export async function withRows<View, T>(
  events: EventStore,
  projection: Projection<View>,
  read: (rows: RowProjector<View>) => Promise<T>,
  options: CatchUpOptions = {},
): Promise<T> {
  if (events.views !== undefined) {
    try {
      return await readCaughtUp(createRowProjector(events, projection), read, options);
    } catch (error) {
      if (!mayBeOfRows(error)) throw error;
    }
  }
  return readCaughtUp(createRowProjector(events, projection, { views: createMemoryViews() }), read, options);
}

async function readCaughtUp<View, T>(
  projector: RowProjector<View>,
  read: (rows: RowProjector<View>) => Promise<T>,
  options: CatchUpOptions,
): Promise<T> {
  await projector.catchUp(options);
  return read(projector);
}

/** If the events themselves cannot be read, rebuilt rows fail in the same way. */
const mayBeOfRows = (error: unknown): boolean =>
  !(error instanceof TurnlogError) || error.code === "store-unavailable" || error.code === "store-corrupted";
