import { expect, test } from "vitest";
import { type Check, createStore, type EventStore, eventStoreChecks } from "../../src/entries/store.ts";
import { createMemoryStore } from "../../src/stores/memory/store.ts";

/** The names of the checks that a store fails. */
async function failing(checks: readonly Check[]): Promise<readonly string[]> {
  const names: string[] = [];
  for (const { name, run } of checks) await run().catch(() => names.push(name));
  return names;
}

const withFault = (fault: (store: EventStore) => Partial<EventStore>) => () => {
  const store = createMemoryStore();
  return { ...store, ...fault(store), [Symbol.asyncDispose]: () => store.close() };
};

test("a sound store passes every check, each on a store of its own that is closed after it", async () => {
  const opened: EventStore[] = [];
  const checks = eventStoreChecks(() => {
    const store = createMemoryStore();
    opened.push(store);
    return store;
  });
  expect(await failing(checks)).toEqual([]);
  expect(opened.length).toBe(checks.length);
  expect(new Set(checks.map(({ name }) => name)).size).toBe(checks.length);
  for (const store of opened) await expect(store.head("any")).rejects.toMatchObject({ code: "store-closed" });
});

const faults: readonly (readonly [string, (store: EventStore) => Partial<EventStore>, string])[] = [
  [
    "forgets what it was asked before",
    (store) => ({
      async append(prepared) {
        const result = await store.append(prepared);
        const isRepeat =
          result.status === "appended" && (await store.head(prepared.stream))?.digest !== result.head.digest;
        return isRepeat ? { status: "conflict", actual: await store.head(prepared.stream) } : result;
      },
    }),
    "answers a repeated append with the original head and position, and writes nothing",
  ],
  [
    "reads backwards as it reads forwards",
    (store) => ({ readStream: (stream, options) => store.readStream(stream, { ...options, direction: "forwards" }) }),
    "reads long streams whole, in both directions",
  ],
  [
    "ignores prefixes",
    (store) => ({ heads: () => store.heads() }),
    "lists heads in the order of the names' bytes, by prefix",
  ],
];

test.each(faults)("a store that %s fails the check that says so", async (_, fault, name) => {
  expect(await failing(eventStoreChecks(withFault(fault)))).toContain(name);
});

test("createStore makes conversations over any event store, and asks its hook", async () => {
  const asked: string[] = [];
  const events = createMemoryStore();
  await using store = createStore(events, { authorize: ({ action }) => asked.push(action) > 0 });
  await store.conversation("cnv_any").append("Hello");
  expect((await store.conversation("cnv_any").turn()).length).toBe(1);
  expect(asked).toContain("append");
  // @ts-expect-error: an address is no event store.
  expect(() => createStore("memory:")).toThrow(
    "createStore takes an event store, not a text: for an address, call openStore",
  );
  // @ts-expect-error: a misspelt option.
  expect(() => createStore(events, { codec: [] })).toThrow(/did you mean 'codecs'/);
});
