import type { JsonObject } from "../../base/json.ts";

type VersionedEvent = { readonly type: string; readonly version: number; readonly data: JsonObject };

/** One step from a released version of an event to the next, by `<type>/<version>`. All are at version 1 so far. */
const steps: ReadonlyMap<string, (event: VersionedEvent) => VersionedEvent> = new Map();

/** Brings an event to its current version, one step at a time; an event without a step is returned as it is. */
export function upcast(event: VersionedEvent): VersionedEvent {
  let current = event;
  for (let step = steps.get(stepName(current)); step !== undefined; step = steps.get(stepName(current))) {
    current = step(current);
  }
  return current;
}

const stepName = (event: VersionedEvent): string => `${event.type}/${event.version}`;
