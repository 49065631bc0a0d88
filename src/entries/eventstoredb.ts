/** Event stores on a server of EventStoreDB or KurrentDB. */
export type { EventStoreDbOptions, EventStoreDbStore } from "../stores/eventstoredb/open.ts";
export { openEventStoreDb } from "../stores/eventstoredb/store.ts";
