import type { JsonObject } from "../../base/json.ts";

type VersionedEvent = { readonly type: string; readonly version: number; readonly data: JsonObject };

/** Steps from a released version of an event to the next, by type and version. */
const stepsByType: ReadonlyMap<string, ReadonlyMap<number, (event: VersionedEvent) => VersionedEvent>> = new Map([
  // The first version has all settings, as the second may.
  ["SettingsDeclared", new Map([[1, (event: VersionedEvent) => ({ ...event, version: 2 })]])],
]);

/** Brings an event to its current version, one step at a time; an event without a step is returned as it is. */
export function upcast(event: VersionedEvent): VersionedEvent {
  const steps = stepsByType.get(event.type);
  let current = event;
  for (let step = steps?.get(current.version); step !== undefined; step = steps?.get(current.version)) {
    current = step(current);
  }
  return current;
}
