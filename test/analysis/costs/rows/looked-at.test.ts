import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readModels } from "../../../../src/conversation/read-models.ts";
import { TurnlogStore } from "../../../../src/conversation/turnlog-store.ts";
import { envelopeSchema } from "../../../../src/log/codec/envelope.ts";
import { createMemoryStore } from "../../../../src/stores/memory/store.ts";

/** A log of an older version, whose requests do not say what they gave up. */
async function olderStore(): Promise<TurnlogStore> {
  const events = createMemoryStore();
  const log = readFileSync(join(import.meta.dirname, "../../../golden/projected-log.jsonl"), "utf8");
  for (const line of log.trimEnd().split("\n")) {
    const envelope = envelopeSchema.parse(JSON.parse(line));
    const expectedHead = await events.head(envelope.stream);
    await events.append({ stream: envelope.stream, expectedHead, envelopes: [envelope] });
  }
  return new TurnlogStore(events);
}

test("requests of an older version are not looked at until the rows are rebuilt", async () => {
  await using store = await olderStore();
  const before = await store.cache();
  expect(before.unknown.notLookedAt).toBeGreaterThan(5);
  expect(before.misses).toEqual([]);
  const billed = await store.bill({ by: "layer" });
  expect(billed.rows).toEqual([]);
  expect(billed.rest.untold.misses).toBe(before.unknown.notLookedAt);
  const rows = readModels(store.events).find(({ name }) => name === "cache") ?? expect.fail("no read model");
  await rows.rebuild();
  const after = await store.cache();
  expect(after.unknown.notLookedAt).toBe(0);
  expect((await store.bill({ by: "layer" })).total.untold.misses).toBe(0);
  expect(after.misses.map(({ author }) => author)).toContain("shorten-results@1.2.0");
  expect({ ...after, misses: [], unknown: {}, tokens: {} }).toEqual({
    ...{ ...before, misses: [], unknown: {} },
    tokens: {},
  });
  expect(after.tokens).toMatchObject({ input: before.tokens.input, read: before.tokens.read });
  // Both kinds of row are what their events say.
  expect((await store.verify()).problems).toEqual([]);
  expect(await store.cache()).toEqual(after);
});

test("rows of one conversation can be looked at, too", async () => {
  await using store = await olderStore();
  await store.cache();
  const rows = readModels(store.events).find(({ name }) => name === "cache") ?? expect.fail("no read model");
  for await (const id of store.conversations()) await rows.retry(`conversation-${id}`);
  expect((await store.cache()).unknown.notLookedAt).toBe(0);
});
