import type { JsonObject } from "../../base/json.ts";

type VersionedEvent = { readonly type: string; readonly version: number; readonly data: JsonObject };

/** Steps from a released version of an event to the next, by type and version. */
const stepsByType: ReadonlyMap<string, ReadonlyMap<number, (event: VersionedEvent) => VersionedEvent>> = new Map([
  // Version 1 always has all settings; version 2 may have them.
  ["SettingsDeclared", new Map([[1, (event: VersionedEvent) => ({ ...event, version: 2 })]])],
]);

/** Brings an event to its current version, one step at a time. An event without a step is returned unchanged. */
export function upcast(event: VersionedEvent): VersionedEvent {
  const steps = stepsByType.get(event.type);
  let current = event;
  for (let step = steps?.get(current.version); step !== undefined; step = steps?.get(current.version)) {
    current = step(current);
  }
  return current;
}
