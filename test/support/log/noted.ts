import type { JsonObject } from "../../../src/base/json.ts";
import { createEventIds } from "../../../src/log/codec/ids.ts";
import type { NewEvent } from "../../../src/log/codec/prepare.ts";

/** An event that notes something. */
export const noted = (data: JsonObject, extra: Partial<NewEvent> = {}): NewEvent => ({
  event: { type: "Noted", version: 1, data },
  actor: { kind: "app" },
  ...extra,
});

const newEventId = createEventIds();

/** A clock that stands still, ids as always, and no waiting. */
export const sources = () => ({
  clock: (): number => Date.UTC(2026, 0, 1),
  newEventId,
  pause: (): Promise<void> => Promise.resolve(),
});
