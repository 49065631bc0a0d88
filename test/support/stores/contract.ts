import { describe, test } from "vitest";
import {
  type Check,
  type EventStore,
  erasureChecks,
  eventStoreChecks,
  livenessChecks,
  snapshotStoreChecks,
  viewStoreChecks,
} from "../../../src/entries/store.ts";

/** The published checks, as everybody who writes a store runs them. */
function describeChecks(name: string, checks: readonly Check[]): void {
  describe(name, () => {
    for (const { name: promise, run } of checks) test(promise, run);
  });
}

export const describeEventStore = (name: string, create: () => Promise<EventStore>): void => {
  describeChecks(`${name} as an event store`, eventStoreChecks(create));
};

export const describeErasure = (name: string, create: Parameters<typeof erasureChecks>[0]): void => {
  describeChecks(`${name} as a store that erases`, erasureChecks(create));
};

export const describeLiveness = (name: string, ...given: Parameters<typeof livenessChecks>): void => {
  describeChecks(`${name}, asked whether owners live`, livenessChecks(...given));
};

export const describeViews = (name: string, create: Parameters<typeof viewStoreChecks>[0]): void => {
  describeChecks(`${name} as a view store`, viewStoreChecks(create));
};

export const describeSnapshots = (name: string, create: Parameters<typeof snapshotStoreChecks>[0]): void => {
  describeChecks(`${name} as a snapshot store`, snapshotStoreChecks(create));
};
