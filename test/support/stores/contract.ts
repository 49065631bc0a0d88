import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { checkEnvelope, firstPrevious } from "../../../src/log/codec/envelope.ts";
import {
  type EventStore,
  EventTooLargeError,
  type Head,
  maxAppendBytes,
  maxEventBytes,
  StoreClosedError,
  StoreCorruptedError,
} from "../../../src/log/ports/event-store.ts";
import { describeLogReads, describeStreamReads } from "./contract-reads.ts";
import { describeSubscriptions } from "./contract-subscriptions.ts";
import { all, append, headAfter, newStream, prepared, text } from "./prepared.ts";

/** What every event store does: the promises of the port, one test each. */
export function describeEventStore(name: string, create: () => Promise<EventStore>): void {
  describe(`${name} as an event store`, () => {
    let store: EventStore;
    beforeEach(async () => {
      store = await create();
    });
    afterEach(() => store.close());

    describeAppends(() => store);
    describeRepeats(() => store);
    describeStreamReads(() => store);
    describeLogReads(() => store);
    describeHeads(() => store);
    describeSubscriptions(() => store);
    describeClosing(() => store);
  });
}

function describeAppends(store: () => EventStore): void {
  test("gives back envelopes exactly as they were written, with a position", async () => {
    const whole = prepared({ data: ['{"a":1}', '{"a":2}'], extra: { runId: "run_1", frame: "0.1", causationId: "c" } });
    const reserved = prepared({ extra: { tenant: "t", keyId: "k", nonce: "n", frame: "" } });
    for (const one of [whole, reserved]) {
      await store().append(one);
      const read = await all(store().readStream(one.stream));
      expect(read).toStrictEqual(one.envelopes.map((envelope, at) => ({ ...envelope, position: read[at]?.position })));
    }
  });

  test("answers with the new head and the position of its event", async () => {
    const { result, sent } = await append(store(), { count: 3 });
    const read = await all(store().readStream(sent.stream));
    expect(result).toEqual({ status: "appended", head: headAfter(sent), position: read.at(-1)?.position });
    expect(await store().head(sent.stream)).toEqual(headAfter(sent));
  });

  test.each([
    ["unicode", '{"t":"é ü 你好 🙂 \\u0000 \\ud800 \u2028 \\""}'],
    ["a member called __proto__", '{"__proto__":{"x":1},"constructor":2}'],
    ["the text as it is, spaces and order included", '{ "b": 1.0,\n "a": 1e2 }'],
    ["no text at all", ""],
  ])("keeps data byte for byte: %s", async (_, data) => {
    const { sent } = await append(store(), { data: [data] });
    expect((await all(store().readStream(sent.stream)))[0]?.data).toBe(data);
  });

  test("keeps an event of 200 KiB, and many of them", async () => {
    const data = [text(200 * 1024), text(200 * 1024), text(200 * 1024)];
    const { sent } = await append(store(), { data });
    expect((await all(store().readStream(sent.stream))).map((event) => event.data)).toEqual(data);
  });

  test("keeps actors and streams with names from all over the world", async () => {
    const actor = { kind: "user", name: 'Zoë "你好" 🙂' } as const;
    const stream = "conversation-é 🙂 ' \" %_";
    await append(store(), { stream, extra: { actor } });
    const [event] = await all(store().readStream(stream));
    expect([event?.stream, event?.actor]).toEqual([stream, actor]);
  });

  test("refuses an event over its bound and writes nothing", async () => {
    const tooLarge = prepared({ data: ["{}", text(maxEventBytes)] });
    await expect(store().append(tooLarge)).rejects.toThrow(EventTooLargeError);
    expect(await store().head(tooLarge.stream)).toBeNull();
  });

  test("counts an event's bytes as JSON in UTF-8", async () => {
    const quotes = prepared({ data: [JSON.stringify({ t: '"'.repeat(70_000) })] });
    const wide = prepared({ data: [JSON.stringify({ t: "你".repeat(90_000) })] });
    await expect(store().append(quotes)).rejects.toThrow(EventTooLargeError);
    await expect(store().append(wide)).rejects.toThrow(EventTooLargeError);
  });

  test.each([
    ["of few large events", Array.from({ length: 5 }, () => text(maxAppendBytes / 5))],
    ["of many small events", Array.from({ length: 900 }, () => text(1_024))],
  ])("refuses an append over its bound, %s, and writes nothing", async (_, data) => {
    const tooLarge = prepared({ data });
    await expect(store().append(tooLarge)).rejects.toThrow(EventTooLargeError);
    expect(await store().head(tooLarge.stream)).toBeNull();
  });

  test("answers a conflict with the head that is there", async () => {
    const first = await append(store(), { count: 2 });
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
      expect(await store().append(late)).toEqual({ status: "conflict", actual });
    }
    expect(await all(store().readStream(stream))).toHaveLength(2);
  });

  test("answers a conflict on a stream that is not there", async () => {
    const expected = { revision: 0, digest: "0" };
    expect(await store().append(prepared({ expected }))).toEqual({ status: "conflict", actual: null });
  });

  test("lets one of several writers at the same head through, and tells the others who it was", async () => {
    const stream = newStream();
    const results = await Promise.all(Array.from({ length: 20 }, () => store().append(prepared({ stream, count: 2 }))));
    expect(results.filter((result) => result.status === "appended")).toHaveLength(1);
    const head = await store().head(stream);
    expect(
      results.filter((result) => result.status === "conflict" && result.actual?.digest === head?.digest),
    ).toHaveLength(19);
    expect(await all(store().readStream(stream))).toHaveLength(2);
  });

  test("writes concurrent appends to many streams, each whole", async () => {
    const sent = Array.from({ length: 300 }, () => prepared({ count: 3 }));
    const results = await Promise.all(sent.map((one) => store().append(one)));
    expect(new Set(results.map((result) => result.status))).toEqual(new Set(["appended"]));
    for (const one of sent) {
      const read = await all(store().readStream(one.stream));
      expect(read.map((event) => event.id)).toEqual(one.envelopes.map((envelope) => envelope.id));
    }
  });

  test("keeps a chain that can be checked", async () => {
    const first = await append(store(), { count: 3 });
    await append(store(), { stream: first.sent.stream, expected: headAfter(first.sent), count: 3 });
    let head: Head | null = null;
    for await (const envelope of store().readStream(first.sent.stream)) {
      const checked = checkEnvelope(head, envelope);
      head = checked.ok ? checked.value : null;
      expect(checked.ok).toBe(true);
    }
    expect(head).toEqual(await store().head(first.sent.stream));
  });

  test("answers an append of no events by whether the stream is at the expected head", async () => {
    const { sent, result } = await append(store(), { count: 2 });
    const { stream } = sent;
    const actual = headAfter(sent);
    expect(await store().append({ stream, expectedHead: actual, envelopes: [] })).toEqual(result);
    const old = { revision: 0, digest: sent.envelopes[0]?.digest ?? "" };
    expect(await store().append({ stream, expectedHead: old, envelopes: [] })).toEqual({ status: "conflict", actual });
    const unknown = { stream: newStream(), expectedHead: null, envelopes: [] };
    expect(await store().append(unknown)).toEqual({ status: "conflict", actual: null });
    expect(await store().append({ ...unknown, expectedHead: actual })).toEqual({ status: "conflict", actual: null });
  });
}

function describeRepeats(store: () => EventStore): void {
  test("answers a repeated append with the original head and position, and writes nothing", async () => {
    const { sent, result } = await append(store(), { count: 3 });
    expect(await store().append(sent)).toEqual(result);
    await append(store(), { stream: sent.stream, expected: headAfter(sent), count: 2 });
    expect(await store().append(sent)).toEqual(result);
    expect(await all(store().readStream(sent.stream))).toHaveLength(5);
  });

  test("writes an append once that is sent twice at once", async () => {
    const sent = prepared({ count: 2 });
    const [first, second] = await Promise.all([store().append(sent), store().append(sent)]);
    expect(first).toEqual(second);
    expect(await all(store().readStream(sent.stream))).toHaveLength(2);
  });

  test("answers a partial overlap with a conflict, whichever part is there", async () => {
    const { sent } = await append(store(), { count: 2 });
    const { stream, envelopes } = sent;
    const [first] = envelopes;
    if (first === undefined) throw new Error("two events were prepared");
    const more = prepared({ stream, expected: headAfter(sent) });
    const longer = { ...sent, envelopes: [...envelopes, ...more.envelopes] };
    expect(await store().append(longer)).toEqual({ status: "conflict", actual: headAfter(sent) });
    const mixed = {
      ...sent,
      envelopes: [first, ...prepared({ stream, expected: { revision: 0, digest: first.digest } }).envelopes],
    };
    expect(await store().append(mixed)).toEqual({ status: "conflict", actual: headAfter(sent) });
    expect(await all(store().readStream(stream))).toHaveLength(2);
  });

  test("reports damage when an id is stored with another digest", async () => {
    const { sent } = await append(store(), { count: 2 });
    const envelopes = sent.envelopes.map((envelope) => ({ ...envelope, digest: firstPrevious("another") }));
    await expect(store().append({ ...sent, envelopes })).rejects.toThrow(StoreCorruptedError);
  });

  test("writes what others append when one append in their midst reports damage", async () => {
    const { sent } = await append(store(), {});
    const damaged = { ...sent, envelopes: sent.envelopes.map((envelope) => ({ ...envelope, digest: "0" })) };
    const sound = prepared({});
    const [bad, good] = await Promise.allSettled([store().append(damaged), store().append(sound)]);
    expect([bad.status, good.status]).toEqual(["rejected", "fulfilled"]);
    expect(await store().head(sound.stream)).toEqual(headAfter(sound));
  });
}

function describeHeads(store: () => EventStore): void {
  test("lists heads in the order of the names' bytes, by prefix", async () => {
    const names = ["b-2", "a-10", "a-1", "b-\u{1F642}", "b-\uFF5E", "a", "c"];
    for (const stream of names) await append(store(), { stream, count: stream.length });
    const heads = await all(store().heads());
    expect(heads.map((one) => one.stream)).toEqual(["a", "a-1", "a-10", "b-2", "b-\uFF5E", "b-\u{1F642}", "c"]);
    for (const { stream, head } of heads) expect(head).toEqual(await store().head(stream));
    expect((await all(store().heads("b-"))).map((one) => one.stream)).toEqual(["b-2", "b-\uFF5E", "b-\u{1F642}"]);
    expect(await all(store().heads("d"))).toEqual([]);
  });

  test("knows the stream of the newest event, by prefix, or does not offer to", async () => {
    const newest = (prefix: string) => store().newestStream?.(prefix);
    const isOffered = store().newestStream !== undefined;
    expect(await newest("conversation-")).toBe(isOffered ? null : undefined);
    const { sent } = await append(store(), { stream: "conversation-a" });
    await append(store(), { stream: "conversation-b" });
    await append(store(), { stream: "conversation-a", expected: headAfter(sent) });
    await append(store(), { stream: "blob-a-1" });
    expect(await newest("conversation-")).toBe(isOffered ? "conversation-a" : undefined);
    expect(await newest("")).toBe(isOffered ? "blob-a-1" : undefined);
    expect(await newest("nothing-")).toBe(isOffered ? null : undefined);
  });

  test("lists the heads of many streams, each once", async () => {
    await Promise.all(Array.from({ length: 300 }, () => append(store(), {})));
    const names = (await all(store().heads("conversation-"))).map((one) => one.stream);
    expect(new Set(names).size).toBe(300);
    expect(names).toHaveLength(300);
  });
}

function describeClosing(store: () => EventStore): void {
  test("throws StoreClosedError on every call after close, which may be called again", async () => {
    const sent = prepared({});
    await store().close();
    await store().close();
    await store()[Symbol.asyncDispose]();
    const calls: (() => Promise<unknown>)[] = [
      () => store().append(sent),
      () => all(store().readStream(sent.stream)),
      () => all(store().readLog()),
      () => all(store().subscribe()),
      () => store().head(sent.stream),
      () => all(store().heads()),
    ];
    for (const call of calls) await expect(call()).rejects.toThrow(StoreClosedError);
  });

  test("writes and answers what was appended before it was closed", async () => {
    const results = Array.from({ length: 5 }, () => store().append(prepared({})));
    await store().close();
    expect((await Promise.all(results)).map((result) => result.status)).toEqual(
      Array.from({ length: 5 }, () => "appended"),
    );
  });

  test("stops a read that is under way", async () => {
    const { sent } = await append(store(), { count: 5 });
    const read = async (): Promise<void> => {
      for await (const event of store().readStream(sent.stream)) if (event.revision === 2) await store().close();
    };
    await expect(read()).rejects.toThrow(StoreClosedError);
  });
}
