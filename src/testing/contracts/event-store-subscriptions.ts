import assert from "node:assert/strict";
import type { EventStore, Head, StoredEnvelope } from "../../log/ports/event-store.ts";
import type { AddCheck } from "./check.ts";
import { all, appendPrepared, headAfter, newStream } from "./prepared.ts";

/** How every store delivers events: existing ones, then new ones, each once and in order. */
export function addSubscriptions(check: AddCheck<EventStore>): void {
  check("delivers what is there, then what comes", async (store) => {
    const { sent } = await appendPrepared(store, { count: 2 });
    const abort = new AbortController();
    const seen: number[] = [];
    let head = headAfter(sent);
    for await (const event of store.subscribe({ signal: abort.signal })) {
      seen.push(event.revision);
      if (event.revision === 5) abort.abort();
      if (event.revision === head.revision) {
        head = headAfter((await appendPrepared(store, { stream: sent.stream, expected: head, count: 2 })).sent);
      }
    }
    assert.deepEqual(seen, [0, 1, 2, 3, 4, 5]);
  });

  check("delivers to a subscriber that is already waiting", async (store) => {
    const abort = new AbortController();
    const delivered = firstOf(store.subscribe({ signal: abort.signal }));
    // The subscriber is asleep once everything that was ready has run.
    await new Promise(setImmediate);
    const { sent } = await appendPrepared(store, {});
    assert.equal((await delivered)?.id, sent.envelopes[0]?.id);
    abort.abort();
  });

  check("delivers what comes to a subscriber by a prefix that nothing matched when it began", async (store) => {
    await appendPrepared(store, { stream: "blob-1", count: 3 });
    const collected = collect(store.subscribe({ streamPrefix: "conversation-new", limit: 3 }), 1);
    const unmatched = all(store.subscribe({ streamPrefix: "conversation-", limit: 3 }));
    await appendPrepared(store, { stream: "blob-2" });
    const { sent } = await appendPrepared(store, { stream: "conversation-new" });
    await collected.enough;
    await appendPrepared(store, { stream: "conversation-new", expected: headAfter(sent), count: 2 });
    for (const delivered of [await collected.whole, await unmatched])
      assert.deepEqual(
        delivered.map(({ stream, revision }) => `${stream} ${revision}`),
        ["conversation-new 0", "conversation-new 1", "conversation-new 2"],
      );
  });

  check("delivers each event once and in order while many append", async (store) => {
    const writers = 8;
    const rounds = 25;
    const abort = new AbortController();
    const seen: StoredEnvelope[] = [];
    const subscription = (async () => {
      for await (const event of store.subscribe({ signal: abort.signal })) {
        seen.push(event);
        if (seen.length === writers * rounds * 2) abort.abort();
      }
    })();
    await Promise.all(
      Array.from({ length: writers }, async () => {
        const stream = newStream();
        let expected: Head | null = null;
        for (let round = 0; round < rounds; round += 1) {
          expected = headAfter((await appendPrepared(store, { stream, expected, count: 2 })).sent);
        }
      }),
    );
    await subscription;
    assert.deepEqual(seen, await all(store.readLog()));
  });

  check("begins after a position, keeps to a prefix, ends at a limit", async (store) => {
    const first = await appendPrepared(store, { stream: "conversation-1", count: 2 });
    await appendPrepared(store, { stream: "blob-1", count: 2 });
    const [start] = await all(store.readLog({ limit: 1 }));
    const options = { after: start?.position ?? "", streamPrefix: "conversation-", limit: 3 };
    const delivered = all(store.subscribe(options));
    await appendPrepared(store, { stream: "blob-2", count: 2 });
    await appendPrepared(store, { stream: "conversation-1", expected: headAfter(first.sent), count: 5 });
    assert.deepEqual(
      (await delivered).map((event) => [event.stream, event.revision]),
      [
        ["conversation-1", 1],
        ["conversation-1", 2],
        ["conversation-1", 3],
      ],
    );
  });

  check(
    "says where its log ends, where it can: a subscription from there leaves nothing out that comes",
    async (store) => {
      if (store.end === undefined) return;
      const { sent, result } = await appendPrepared(store, { count: 3 });
      const end = await store.end();
      assert.ok(result.status === "appended" && end !== null);
      const stop = new AbortController();
      const delivered: number[] = [];
      const delivery = (async () => {
        for await (const { stream, revision } of store.subscribe({ after: end, signal: stop.signal })) {
          if (stream === sent.stream) delivered.push(revision);
          if (delivered.at(-1) === 3) stop.abort();
        }
      })();
      await appendPrepared(store, { stream: sent.stream, expected: headAfter(sent) });
      await delivery;
      // A server that lags may report an earlier end: then existing events are delivered, too, and none is missing.
      assert.deepEqual(delivered, [0, 1, 2, 3].slice(-delivered.length));
    },
  );

  check("ends without an error when its signal aborts, before, while it waits, and between events", async (store) => {
    await appendPrepared(store, { count: 3 });
    assert.deepEqual(await all(store.subscribe({ signal: AbortSignal.abort() })), []);
    const waiting = new AbortController();
    const collected = collect(store.subscribe({ signal: waiting.signal }), 3);
    await collected.enough;
    await new Promise(setImmediate);
    waiting.abort();
    assert.equal((await collected.whole).length, 3);
    const between = new AbortController();
    const seen: number[] = [];
    for await (const event of store.subscribe({ signal: between.signal })) {
      seen.push(event.revision);
      between.abort();
    }
    assert.deepEqual(seen, [0]);
  });

  check("serves several subscribers, each at its own pace, and one that leaves disturbs none", async (store) => {
    const abort = new AbortController();
    await appendPrepared(store, { count: 2 });
    const leaver = firstOf(store.subscribe({ signal: abort.signal }));
    const stayers = [all(store.subscribe({ limit: 4 })), all(store.subscribe({ limit: 4 }))];
    await leaver;
    await appendPrepared(store, { count: 2 });
    const [left, right] = await Promise.all(stayers);
    assert.equal(left?.length, 4);
    assert.deepEqual(left, right);
  });

  check("ends open subscriptions when the store is closed", async (store) => {
    await appendPrepared(store, {});
    const collected = collect(store.subscribe(), 1);
    await collected.enough;
    await new Promise(setImmediate);
    await store.close();
    assert.equal((await collected.whole).length, 1);
  });
}

async function firstOf(events: AsyncIterable<StoredEnvelope>): Promise<StoredEnvelope | undefined> {
  for await (const event of events) return event;
  return undefined;
}

/** All delivered events, and a promise for when there are enough: a remote store takes its time. */
function collect(
  events: AsyncIterable<StoredEnvelope>,
  count: number,
): { readonly whole: Promise<readonly StoredEnvelope[]>; readonly enough: Promise<undefined> } {
  const enough = Promise.withResolvers<undefined>();
  const read = async (): Promise<readonly StoredEnvelope[]> => {
    const seen: StoredEnvelope[] = [];
    for await (const event of events) {
      seen.push(event);
      if (seen.length === count) enough.resolve(undefined);
    }
    return seen;
  };
  return { whole: read(), enough: enough.promise };
}
