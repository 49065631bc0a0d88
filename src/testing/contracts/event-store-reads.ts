import assert from "node:assert/strict";
import { comparePositions, type EventStore, type StoredEnvelope } from "../../log/ports/event-store.ts";
import type { AddCheck } from "./check.ts";
import { all, appendPrepared, headAfter, prepared } from "./prepared.ts";

/** How every store reads a stream. */
export function addStreamReads(check: AddCheck<EventStore>): void {
  const revisions = async (events: AsyncIterable<StoredEnvelope>): Promise<number[]> =>
    (await all(events)).map((event) => event.revision);

  check("reads a stream that is not there as empty", async (store) => {
    assert.deepEqual(await all(store.readStream("nothing")), []);
    assert.deepEqual(await all(store.readStream("nothing", { direction: "backwards" })), []);
    assert.equal(await store.head("nothing"), null);
  });

  check("reads from any revision, in both directions, up to a limit", async (store) => {
    const { sent } = await appendPrepared(store, { count: 6 });
    const read = (options: Parameters<EventStore["readStream"]>[1]) =>
      revisions(store.readStream(sent.stream, options));
    assert.deepEqual(await read({}), [0, 1, 2, 3, 4, 5]);
    assert.deepEqual(await read({ from: 4 }), [4, 5]);
    assert.deepEqual(await read({ from: 2, limit: 2 }), [2, 3]);
    assert.deepEqual(await read({ from: 6 }), []);
    assert.deepEqual(await read({ limit: 0 }), []);
    assert.deepEqual(await read({ direction: "backwards" }), [5, 4, 3, 2, 1, 0]);
    assert.deepEqual(await read({ direction: "backwards", from: 2 }), [2, 1, 0]);
    assert.deepEqual(await read({ direction: "backwards", from: 99, limit: 2 }), [5, 4]);
    assert.deepEqual(await read({ direction: "backwards", from: 0, limit: 9 }), [0]);
  });

  check("reads long streams whole, in both directions", async (store) => {
    const { sent } = await appendPrepared(store, { count: 150 });
    await appendPrepared(store, { stream: sent.stream, expected: headAfter(sent), count: 150 });
    const ascending = Array.from({ length: 300 }, (_, index) => index);
    assert.deepEqual(await revisions(store.readStream(sent.stream)), ascending);
    assert.deepEqual(await revisions(store.readStream(sent.stream, { direction: "backwards" })), ascending.reverse());
    assert.equal((await revisions(store.readStream(sent.stream, { from: 60, limit: 130 }))).length, 130);
  });

  check("keeps streams apart whose names begin alike or differ in case", async (store) => {
    await appendPrepared(store, { stream: "conversation-a" });
    await appendPrepared(store, { stream: "conversation-A", count: 2 });
    await appendPrepared(store, { stream: "conversation-ab", count: 3 });
    assert.equal((await revisions(store.readStream("conversation-a"))).length, 1);
    assert.equal((await revisions(store.readStream("conversation-A"))).length, 2);
  });

  check("throws the signal's reason when a read is aborted", async (store) => {
    const { sent } = await appendPrepared(store, { count: 5 });
    const abort = new AbortController();
    const reason = new Error("enough");
    const seen: number[] = [];
    const read = async (): Promise<void> => {
      for await (const event of store.readStream(sent.stream, { signal: abort.signal })) {
        seen.push(event.revision);
        if (event.revision === 1) abort.abort(reason);
      }
    };
    await assert.rejects(read(), (error) => error === reason);
    assert.deepEqual(seen, [0, 1]);
    await assert.rejects(all(store.readLog({ signal: abort.signal })), (error) => error === reason);
  });

  check("gives each event of a stream once, in order, while others append to it", async (store) => {
    const first = await appendPrepared(store, { count: 100 });
    const { stream } = first.sent;
    const seen: number[] = [];
    let head = headAfter(first.sent);
    for await (const event of store.readStream(stream)) {
      seen.push(event.revision);
      if (event.revision % 10 === 0 && event.revision < 100) {
        head = headAfter((await appendPrepared(store, { stream, expected: head })).sent);
      }
    }
    assert.deepEqual(
      seen,
      seen.map((_, index) => index),
    );
    assert.ok(seen.length >= 100);
  });
}

/** How every store reads its log. */
export function addLogReads(check: AddCheck<EventStore>): void {
  check("reads the log in the order of positions, each event once, whole appends together", async (store) => {
    const sent = Array.from({ length: 120 }, () => prepared({ count: 2 }));
    await Promise.all(sent.map((one) => store.append(one)));
    const log = await all(store.readLog());
    assert.equal(log.length, 240);
    assert.equal(new Set(log.map((event) => event.id)).size, 240);
    assert.equal(
      log.every((event, index) => index === 0 || comparePositions(log[index - 1]?.position ?? "", event.position) < 0),
      true,
    );
    for (const one of sent) {
      const at = log.findIndex((event) => event.id === one.envelopes[0]?.id);
      assert.equal(log[at + 1]?.id, one.envelopes[1]?.id);
    }
  });

  check("gives the same envelope from the log and from its stream", async (store) => {
    const { sent } = await appendPrepared(store, { count: 3, extra: { runId: "run_1" } });
    assert.deepEqual(await all(store.readLog()), await all(store.readStream(sent.stream)));
  });

  check("reads on after a position, by prefix and up to a limit", async (store) => {
    for (let round = 0; round < 40; round += 1) {
      await appendPrepared(store, { stream: `conversation-${round}`, count: 2 });
      await appendPrepared(store, { stream: `blob-${round}`, count: 2 });
    }
    const log = await all(store.readLog({ streamPrefix: "conversation-" }));
    assert.equal(log.length, 80);
    assert.equal(
      log.every((event) => event.stream.startsWith("conversation-")),
      true,
    );
    const middle = log[39];
    const rest = await all(store.readLog({ after: middle?.position ?? "", streamPrefix: "conversation-" }));
    assert.deepEqual(rest, log.slice(40));
    assert.deepEqual(await all(store.readLog({ streamPrefix: "conversation-", limit: 70 })), log.slice(0, 70));
    assert.deepEqual(
      await all(store.readLog({ after: log.at(-1)?.position ?? "", streamPrefix: "conversation-" })),
      [],
    );
    assert.deepEqual(await all(store.readLog({ streamPrefix: "Conversation" })), []);
    assert.equal((await all(store.readLog())).length, 160);
  });

  check("takes a prefix as text, whatever its characters are", async (store) => {
    for (const stream of ["🙂-1", "🙂🙂-1", "%-1", "_-1", "a-1"]) await appendPrepared(store, { stream });
    const named = async (streamPrefix: string): Promise<string[]> =>
      (await all(store.readLog({ streamPrefix }))).map((event) => event.stream);
    assert.deepEqual(await named("🙂-"), ["🙂-1"]);
    assert.deepEqual(await named("🙂"), ["🙂-1", "🙂🙂-1"]);
    assert.deepEqual(await named("%"), ["%-1"]);
    assert.deepEqual(await named("_"), ["_-1"]);
  });

  check("reads an empty log as empty", async (store) => {
    assert.deepEqual(await all(store.readLog()), []);
  });
}
