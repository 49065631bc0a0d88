import { expect, test } from "vitest";
import { comparePositions, type EventStore, type StoredEnvelope } from "../../../src/log/ports/event-store.ts";
import { all, append, headAfter, prepared } from "./prepared.ts";

/** How every store reads a stream. */
export function describeStreamReads(store: () => EventStore): void {
  const revisions = async (events: AsyncIterable<StoredEnvelope>): Promise<number[]> =>
    (await all(events)).map((event) => event.revision);

  test("reads a stream that is not there as empty", async () => {
    expect(await all(store().readStream("nothing"))).toEqual([]);
    expect(await all(store().readStream("nothing", { direction: "backwards" }))).toEqual([]);
    expect(await store().head("nothing")).toBeNull();
  });

  test("reads from any revision, in both directions, up to a limit", async () => {
    const { sent } = await append(store(), { count: 6 });
    const read = (options: Parameters<EventStore["readStream"]>[1]) =>
      revisions(store().readStream(sent.stream, options));
    expect(await read({})).toEqual([0, 1, 2, 3, 4, 5]);
    expect(await read({ from: 4 })).toEqual([4, 5]);
    expect(await read({ from: 2, limit: 2 })).toEqual([2, 3]);
    expect(await read({ from: 6 })).toEqual([]);
    expect(await read({ limit: 0 })).toEqual([]);
    expect(await read({ direction: "backwards" })).toEqual([5, 4, 3, 2, 1, 0]);
    expect(await read({ direction: "backwards", from: 2 })).toEqual([2, 1, 0]);
    expect(await read({ direction: "backwards", from: 99, limit: 2 })).toEqual([5, 4]);
    expect(await read({ direction: "backwards", from: 0, limit: 9 })).toEqual([0]);
  });

  test("reads long streams whole, in both directions", async () => {
    const { sent } = await append(store(), { count: 150 });
    await append(store(), { stream: sent.stream, expected: headAfter(sent), count: 150 });
    const ascending = Array.from({ length: 300 }, (_, index) => index);
    expect(await revisions(store().readStream(sent.stream))).toEqual(ascending);
    expect(await revisions(store().readStream(sent.stream, { direction: "backwards" }))).toEqual(ascending.reverse());
    expect(await revisions(store().readStream(sent.stream, { from: 60, limit: 130 }))).toHaveLength(130);
  });

  test("keeps streams apart whose names begin alike or differ in case", async () => {
    await append(store(), { stream: "conversation-a" });
    await append(store(), { stream: "conversation-A", count: 2 });
    await append(store(), { stream: "conversation-ab", count: 3 });
    expect(await revisions(store().readStream("conversation-a"))).toHaveLength(1);
    expect(await revisions(store().readStream("conversation-A"))).toHaveLength(2);
  });

  test("throws the signal's reason when a read is aborted", async () => {
    const { sent } = await append(store(), { count: 5 });
    const abort = new AbortController();
    const reason = new Error("enough");
    const seen: number[] = [];
    const read = async (): Promise<void> => {
      for await (const event of store().readStream(sent.stream, { signal: abort.signal })) {
        seen.push(event.revision);
        if (event.revision === 1) abort.abort(reason);
      }
    };
    await expect(read()).rejects.toBe(reason);
    expect(seen).toEqual([0, 1]);
    await expect(all(store().readLog({ signal: abort.signal }))).rejects.toBe(reason);
  });

  test("gives each event of a stream once, in order, while others append to it", async () => {
    const first = await append(store(), { count: 100 });
    const { stream } = first.sent;
    const seen: number[] = [];
    let head = headAfter(first.sent);
    for await (const event of store().readStream(stream)) {
      seen.push(event.revision);
      if (event.revision % 10 === 0 && event.revision < 100) {
        head = headAfter((await append(store(), { stream, expected: head })).sent);
      }
    }
    expect(seen).toEqual(seen.map((_, index) => index));
    expect(seen.length).toBeGreaterThanOrEqual(100);
  });
}

/** How every store reads its log. */
export function describeLogReads(store: () => EventStore): void {
  test("reads the log in the order of positions, each event once, whole appends together", async () => {
    const sent = Array.from({ length: 120 }, () => prepared({ count: 2 }));
    await Promise.all(sent.map((one) => store().append(one)));
    const log = await all(store().readLog());
    expect(log).toHaveLength(240);
    expect(new Set(log.map((event) => event.id)).size).toBe(240);
    expect(
      log.every((event, index) => index === 0 || comparePositions(log[index - 1]?.position ?? "", event.position) < 0),
    ).toBe(true);
    for (const one of sent) {
      const at = log.findIndex((event) => event.id === one.envelopes[0]?.id);
      expect(log[at + 1]?.id).toBe(one.envelopes[1]?.id);
    }
  });

  test("gives the same envelope from the log and from its stream", async () => {
    const { sent } = await append(store(), { count: 3, extra: { runId: "run_1" } });
    expect(await all(store().readLog())).toEqual(await all(store().readStream(sent.stream)));
  });

  test("reads on after a position, by prefix and up to a limit", async () => {
    for (let round = 0; round < 40; round += 1) {
      await append(store(), { stream: `conversation-${round}`, count: 2 });
      await append(store(), { stream: `blob-${round}`, count: 2 });
    }
    const log = await all(store().readLog({ streamPrefix: "conversation-" }));
    expect(log).toHaveLength(80);
    expect(log.every((event) => event.stream.startsWith("conversation-"))).toBe(true);
    const middle = log[39];
    const rest = await all(store().readLog({ after: middle?.position ?? "", streamPrefix: "conversation-" }));
    expect(rest).toEqual(log.slice(40));
    expect(await all(store().readLog({ streamPrefix: "conversation-", limit: 70 }))).toEqual(log.slice(0, 70));
    expect(await all(store().readLog({ after: log.at(-1)?.position ?? "", streamPrefix: "conversation-" }))).toEqual(
      [],
    );
    expect(await all(store().readLog({ streamPrefix: "Conversation" }))).toEqual([]);
    expect(await all(store().readLog())).toHaveLength(160);
  });

  test("takes a prefix as text, whatever its characters are", async () => {
    for (const stream of ["🙂-1", "🙂🙂-1", "%-1", "_-1", "a-1"]) await append(store(), { stream });
    const named = async (streamPrefix: string): Promise<string[]> =>
      (await all(store().readLog({ streamPrefix }))).map((event) => event.stream);
    expect(await named("🙂-")).toEqual(["🙂-1"]);
    expect(await named("🙂")).toEqual(["🙂-1", "🙂🙂-1"]);
    expect(await named("%")).toEqual(["%-1"]);
    expect(await named("_")).toEqual(["_-1"]);
  });

  test("reads an empty log as empty", async () => {
    expect(await all(store().readLog())).toEqual([]);
  });
}
