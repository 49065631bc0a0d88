import assert from "node:assert/strict";
import { checkEnvelope, firstPrevious } from "../../log/codec/envelope.ts";
import { maxAppendBytes, maxEventBytes } from "../../log/ports/event-bounds.ts";
import type { EventStore, Head } from "../../log/ports/event-store.ts";
import { EventTooLargeError, StoreClosedError, StoreCorruptedError } from "../../log/ports/store-errors.ts";
import { type AddCheck, type Check, checksOf } from "./check.ts";
import { addLines } from "./event-store-lines.ts";
import { addLogReads, addStreamReads } from "./event-store-reads.ts";
import { addSubscriptions } from "./event-store-subscriptions.ts";
import { all, appendPrepared, headAfter, jsonText, newStream, prepared } from "./prepared.ts";

/**
 * The promises of every event store: `for (const { name, run } of eventStoreChecks(create)) test(name, run)` in
 * any test runner. Each check gets an empty store from `create`, and closes it.
 */
export const eventStoreChecks = (create: () => EventStore | Promise<EventStore>): readonly Check[] =>
  checksOf(create, (check) => {
    addAppends(check);
    addLines(check);
    addRepeats(check);
    addStreamReads(check);
    addLogReads(check);
    addHeads(check);
    addSubscriptions(check);
    addClosing(check);
  });

function addAppends(check: AddCheck<EventStore>): void {
  check("gives back envelopes exactly as they were written, with a position", async (store) => {
    const whole = prepared({ data: ['{"a":1}', '{"a":2}'], extra: { runId: "run_1", frame: "0.1", causationId: "c" } });
    const reserved = prepared({ extra: { tenant: "t", keyId: "k", nonce: "n", frame: "" } });
    for (const one of [whole, reserved]) {
      await store.append(one);
      const read = await all(store.readStream(one.stream));
      assert.deepEqual(
        read,
        one.envelopes.map((envelope, at) => ({ ...envelope, position: read[at]?.position })),
      );
    }
  });

  check("answers with the new head and the position of its event", async (store) => {
    const { result, sent } = await appendPrepared(store, { count: 3 });
    const read = await all(store.readStream(sent.stream));
    assert.deepEqual(result, { status: "appended", head: headAfter(sent), position: read.at(-1)?.position });
    assert.deepEqual(await store.head(sent.stream), headAfter(sent));
  });

  const texts = [
    ["unicode", '{"t":"é ü 你好 🙂 \\u0000 \\ud800 \u2028 \\""}'],
    ["a member called __proto__", '{"__proto__":{"x":1},"constructor":2}'],
    ["the text as it is, spaces and order included", '{ "b": 1.0,\n "a": 1e2 }'],
    ["no text at all", ""],
  ] as const;
  for (const [kind, data] of texts)
    check(`keeps data byte for byte: ${kind}`, async (store) => {
      const { sent } = await appendPrepared(store, { data: [data] });
      assert.equal((await all(store.readStream(sent.stream)))[0]?.data, data);
    });

  check("keeps an event of 200 KiB, and many of them", async (store) => {
    const data = [jsonText(200 * 1024), jsonText(200 * 1024), jsonText(200 * 1024)];
    const { sent } = await appendPrepared(store, { data });
    assert.deepEqual(
      (await all(store.readStream(sent.stream))).map((event) => event.data),
      data,
    );
  });

  check("keeps actors and streams with names from all over the world", async (store) => {
    const actor = { kind: "user", name: 'Zoë "你好" 🙂' } as const;
    const stream = "conversation-é 🙂 ' \" %_";
    await appendPrepared(store, { stream, extra: { actor } });
    const [event] = await all(store.readStream(stream));
    assert.deepEqual([event?.stream, event?.actor], [stream, actor]);
  });

  check("refuses an event over its bound and writes nothing", async (store) => {
    const tooLarge = prepared({ data: ["{}", jsonText(maxEventBytes)] });
    await assert.rejects(store.append(tooLarge), EventTooLargeError);
    assert.equal(await store.head(tooLarge.stream), null);
  });

  check("counts an event's bytes as JSON in UTF-8", async (store) => {
    const quotes = prepared({ data: [JSON.stringify({ t: '"'.repeat(70_000) })] });
    const wide = prepared({ data: [JSON.stringify({ t: "你".repeat(90_000) })] });
    await assert.rejects(store.append(quotes), EventTooLargeError);
    await assert.rejects(store.append(wide), EventTooLargeError);
  });

  const tooLarge = [
    ["of few large events", Array.from({ length: 5 }, () => jsonText(maxAppendBytes / 5))],
    ["of many small events", Array.from({ length: 900 }, () => jsonText(1_024))],
  ] as const;
  for (const [kind, data] of tooLarge)
    check(`refuses an append over its bound, ${kind}, and writes nothing`, async (store) => {
      const sent = prepared({ data });
      await assert.rejects(store.append(sent), EventTooLargeError);
      assert.equal(await store.head(sent.stream), null);
    });

  check("answers a conflict with the head that is there", async (store) => {
    const first = await appendPrepared(store, { count: 2 });
    const { stream } = first.sent;
    const actual = headAfter(first.sent);
    const stale: (Head | null)[] = [
      null,
      { revision: 0, digest: "0" },
      { ...actual, digest: "0" },
      { ...actual, revision: 9 },
    ];
    for (const expected of stale) {
      const late = prepared({ stream, expected });
      assert.deepEqual(await store.append(late), { status: "conflict", actual });
    }
    assert.equal((await all(store.readStream(stream))).length, 2);
  });

  check("answers a conflict on a stream that is not there", async (store) => {
    const expected = { revision: 0, digest: "0" };
    assert.deepEqual(await store.append(prepared({ expected })), { status: "conflict", actual: null });
  });

  check("lets one of several writers at the same head through, and tells the others who it was", async (store) => {
    const stream = newStream();
    const results = await Promise.all(Array.from({ length: 20 }, () => store.append(prepared({ stream, count: 2 }))));
    assert.equal(results.filter((result) => result.status === "appended").length, 1);
    const head = await store.head(stream);
    assert.equal(
      results.filter((result) => result.status === "conflict" && result.actual?.digest === head?.digest).length,
      19,
    );
    assert.equal((await all(store.readStream(stream))).length, 2);
  });

  check("writes concurrent appends to many streams, each whole", async (store) => {
    const sent = Array.from({ length: 300 }, () => prepared({ count: 3 }));
    const results = await Promise.all(sent.map((one) => store.append(one)));
    assert.deepEqual(new Set(results.map((result) => result.status)), new Set(["appended"]));
    for (const one of sent) {
      const read = await all(store.readStream(one.stream));
      assert.deepEqual(
        read.map((event) => event.id),
        one.envelopes.map((envelope) => envelope.id),
      );
    }
  });

  check("keeps a chain that can be checked", async (store) => {
    const first = await appendPrepared(store, { count: 3 });
    await appendPrepared(store, { stream: first.sent.stream, expected: headAfter(first.sent), count: 3 });
    let head: Head | null = null;
    for await (const envelope of store.readStream(first.sent.stream)) {
      const checked = checkEnvelope(head, envelope);
      head = checked.ok ? checked.value : null;
      assert.equal(checked.ok, true);
    }
    assert.deepEqual(head, await store.head(first.sent.stream));
  });

  check("answers an append of no events by whether the stream is at the expected head", async (store) => {
    const { sent, result } = await appendPrepared(store, { count: 2 });
    const { stream } = sent;
    const actual = headAfter(sent);
    assert.deepEqual(await store.append({ stream, expectedHead: actual, envelopes: [] }), result);
    const old = { revision: 0, digest: sent.envelopes[0]?.digest ?? "" };
    assert.deepEqual(await store.append({ stream, expectedHead: old, envelopes: [] }), { status: "conflict", actual });
    const unknown = { stream: newStream(), expectedHead: null, envelopes: [] };
    assert.deepEqual(await store.append(unknown), { status: "conflict", actual: null });
    assert.deepEqual(await store.append({ ...unknown, expectedHead: actual }), { status: "conflict", actual: null });
  });
}

function addRepeats(check: AddCheck<EventStore>): void {
  check("answers a repeated append with the original head and position, and writes nothing", async (store) => {
    const { sent, result } = await appendPrepared(store, { count: 3 });
    assert.deepEqual(await store.append(sent), result);
    await appendPrepared(store, { stream: sent.stream, expected: headAfter(sent), count: 2 });
    assert.deepEqual(await store.append(sent), result);
    assert.equal((await all(store.readStream(sent.stream))).length, 5);
  });

  check("writes an append once that is sent twice at once", async (store) => {
    const sent = prepared({ count: 2 });
    const [first, second] = await Promise.all([store.append(sent), store.append(sent)]);
    assert.deepEqual(first, second);
    assert.equal((await all(store.readStream(sent.stream))).length, 2);
  });

  check("answers a partial overlap with a conflict, whichever part is there", async (store) => {
    const { sent } = await appendPrepared(store, { count: 2 });
    const { stream, envelopes } = sent;
    const [first] = envelopes;
    if (first === undefined) throw new Error("two events were prepared");
    const more = prepared({ stream, expected: headAfter(sent) });
    const longer = { ...sent, envelopes: [...envelopes, ...more.envelopes] };
    assert.deepEqual(await store.append(longer), { status: "conflict", actual: headAfter(sent) });
    const mixed = {
      ...sent,
      envelopes: [first, ...prepared({ stream, expected: { revision: 0, digest: first.digest } }).envelopes],
    };
    assert.deepEqual(await store.append(mixed), { status: "conflict", actual: headAfter(sent) });
    assert.equal((await all(store.readStream(stream))).length, 2);
  });

  check("reports damage when an id is stored with another digest", async (store) => {
    const { sent } = await appendPrepared(store, { count: 2 });
    const envelopes = sent.envelopes.map((envelope) => ({ ...envelope, digest: firstPrevious("another") }));
    await assert.rejects(store.append({ ...sent, envelopes }), StoreCorruptedError);
  });

  check("writes what others append when one append in their midst reports damage", async (store) => {
    const { sent } = await appendPrepared(store, {});
    const damaged = { ...sent, envelopes: sent.envelopes.map((envelope) => ({ ...envelope, digest: "0" })) };
    const sound = prepared({});
    const [bad, good] = await Promise.allSettled([store.append(damaged), store.append(sound)]);
    assert.deepEqual([bad.status, good.status], ["rejected", "fulfilled"]);
    assert.deepEqual(await store.head(sound.stream), headAfter(sound));
  });
}

function addHeads(check: AddCheck<EventStore>): void {
  check("lists heads in the order of the names' bytes, by prefix", async (store) => {
    const names = ["b-2", "a-10", "a-1", "b-\u{1F642}", "b-\uFF5E", "a", "c"];
    for (const stream of names) await appendPrepared(store, { stream, count: stream.length });
    const heads = await all(store.heads());
    assert.deepEqual(
      heads.map((one) => one.stream),
      ["a", "a-1", "a-10", "b-2", "b-\uFF5E", "b-\u{1F642}", "c"],
    );
    for (const { stream, head } of heads) assert.deepEqual(head, await store.head(stream));
    assert.deepEqual(
      (await all(store.heads("b-"))).map((one) => one.stream),
      ["b-2", "b-\uFF5E", "b-\u{1F642}"],
    );
    assert.deepEqual(await all(store.heads("d")), []);
  });

  check("knows the stream of the newest event, by prefix, or does not offer to", async (store) => {
    const newest = (prefix: string) => store.newestStream?.(prefix);
    const isOffered = store.newestStream !== undefined;
    assert.equal(await newest("conversation-"), isOffered ? null : undefined);
    const { sent } = await appendPrepared(store, { stream: "conversation-a" });
    await appendPrepared(store, { stream: "conversation-b" });
    await appendPrepared(store, { stream: "conversation-a", expected: headAfter(sent) });
    await appendPrepared(store, { stream: "blob-a-1" });
    assert.equal(await newest("conversation-"), isOffered ? "conversation-a" : undefined);
    assert.equal(await newest(""), isOffered ? "blob-a-1" : undefined);
    assert.equal(await newest("nothing-"), isOffered ? null : undefined);
  });

  check("lists the heads of many streams, each once", async (store) => {
    await Promise.all(Array.from({ length: 300 }, () => appendPrepared(store, {})));
    const names = (await all(store.heads("conversation-"))).map((one) => one.stream);
    assert.equal(new Set(names).size, 300);
    assert.equal(names.length, 300);
  });
}

function addClosing(check: AddCheck<EventStore>): void {
  check("throws StoreClosedError on every call after close, which may be called again", async (store) => {
    const sent = prepared({});
    await store.close();
    await store.close();
    await store[Symbol.asyncDispose]();
    const calls: (() => Promise<unknown>)[] = [
      () => store.append(sent),
      () => all(store.readStream(sent.stream)),
      () => all(store.readLog()),
      () => all(store.subscribe()),
      () => store.head(sent.stream),
      () => all(store.heads()),
    ];
    for (const call of calls) await assert.rejects(call(), StoreClosedError);
  });

  check("writes and answers what was appended before it was closed", async (store) => {
    const results = Array.from({ length: 5 }, () => store.append(prepared({})));
    await store.close();
    assert.deepEqual(
      (await Promise.all(results)).map((result) => result.status),
      Array.from({ length: 5 }, () => "appended"),
    );
  });

  check("stops a read that is under way", async (store) => {
    const { sent } = await appendPrepared(store, { count: 5 });
    const read = async (): Promise<void> => {
      for await (const event of store.readStream(sent.stream)) if (event.revision === 2) await store.close();
    };
    await assert.rejects(read(), StoreClosedError);
  });
}
