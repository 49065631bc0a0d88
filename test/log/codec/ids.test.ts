import { expect, test } from "vitest";
import { createEventIds } from "../../../src/log/codec/ids.ts";

const randomUuid = (): string => "00000000-0000-4000-8000-0123456789ab";

test("draws UUIDs of version 7 that carry their time", () => {
  const newEventId = createEventIds({ clock: () => 0x0192_3456_789a, randomUuid });
  expect(newEventId()).toBe("01923456-789a-7000-8000-0123456789ab");
  expect(newEventId()).toBe("01923456-789a-7001-8000-0123456789ab");
});

test("draws greater and greater ids from a clock that stops, goes back and jumps", () => {
  const times = [5, 5, 4, 5, 6, 1, 1_000_000, 3];
  let call = 0;
  const newEventId = createEventIds({ clock: () => times[Math.trunc(call++ / 3_000)] ?? 0, randomUuid });
  const ids = Array.from({ length: 24_000 }, newEventId);
  expect(ids).toEqual(ids.toSorted());
  expect(new Set(ids).size).toBe(24_000);
  for (const id of ids) expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-8000-0123456789ab$/);
});

test("draws different ids in two generators of the same moment", () => {
  const clock = (): number => 5;
  expect(createEventIds({ clock })()).not.toBe(createEventIds({ clock })());
});
