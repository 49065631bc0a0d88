import type { EventStore } from "../../log/ports/event-store.ts";

/** How many of these conversations are written as json, in a store that could write lines: they can only be erased as a whole. */
export async function countJson(
  events: EventStore,
  conversations: readonly { readonly id: string }[],
): Promise<number> {
  if (events.takesLines === undefined) return 0;
  let found = 0;
  for (const { id } of conversations) {
    for await (const { encoding } of events.readStream(`conversation-${id}`, { limit: 1 }))
      if (encoding === "json") found += 1;
  }
  return found;
}
