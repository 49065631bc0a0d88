import assert from "node:assert/strict";
import type { EventStore } from "../../log/ports/event-store.ts";
import type { AddCheck } from "./check.ts";
import { all, headAfter, prepared } from "./prepared.ts";

/** Of a store that does not take lines, these checks ask nothing. */
export function addLines(check: AddCheck<EventStore>): void {
  check("gives back events in lines exactly as they were written, if it takes them", async (store) => {
    if ((await store.takesLines?.()) !== true) return;
    const lines = ['{"n":\t1}\nsalt"words"', `{"n":\t1}\n~${"0".repeat(64)}`];
    const one = prepared({ data: lines, extra: { encoding: "lines" } });
    await store.append(one);
    const read = await all(store.readStream(one.stream));
    assert.deepEqual(
      read.map(({ position: _, ...envelope }) => envelope),
      one.envelopes,
    );
  });

  check("keeps the naming key of a stream that it takes in lines, from its first append on", async (store) => {
    if ((await store.takesLines?.()) !== true) return;
    const first = { ...prepared({ extra: { encoding: "lines" } }), namingKey: "a".repeat(64) };
    assert.equal(await store.namingKey?.(first.stream), null);
    const refused = await store.append({ ...first, expectedHead: { revision: 0, digest: "0".repeat(64) } });
    assert.deepEqual([refused.status, await store.namingKey?.(first.stream)], ["conflict", null]);
    await store.append(first);
    await store.append(prepared({ stream: first.stream, expected: headAfter(first) }));
    assert.equal(await store.namingKey?.(first.stream), first.namingKey);
    assert.equal(await store.namingKey?.(prepared({}).stream), null);
  });
}
