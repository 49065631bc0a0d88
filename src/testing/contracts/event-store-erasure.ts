import assert from "node:assert/strict";
import { checkEnvelope } from "../../log/codec/envelope.ts";
import { linesDigest, withErasedLines } from "../../log/codec/lines.ts";
import type { ErasingStore, StreamErasure } from "../../log/ports/event-store.ts";
import { type AddCheck, type Check, checksOf } from "./check.ts";
import { all, appendPrepared, headAfter, prepared } from "./prepared.ts";

/** The promises of every store that can erase, in addition to `eventStoreChecks`. Each check gets an empty store from `create`, and closes it. */
export const erasureChecks = (create: () => ErasingStore | Promise<ErasingStore>): readonly Check[] =>
  checksOf(create, addErasure);

function addErasure(check: AddCheck<ErasingStore>): void {
  check("empties what stands before a fence, and keeps places, types, times and digests", async (store) => {
    const { sent } = await appendPrepared(store, { count: 3, extra: { runId: "run_1", frame: "0" } });
    const before = await all(store.readStream(sent.stream));
    const fence = prepared({ stream: sent.stream, expected: headAfter(sent) });
    const result = await store.erase(erasing({ fences: [fence] }));
    assert.equal(result.status === "erased" && result.events, 3);
    const after = await all(store.readStream(sent.stream));
    const left = before.map(({ stream, revision, position, type, version, at, digest }) => ({
      ...{ stream, revision, position, type, version, at, digest, id: "", actor: { kind: "engine" } },
      ...{ encoding: "erased", data: '{"erasedBy":"era_1"}', dataDigest: "" },
    }));
    assert.deepEqual(after.slice(0, 3), left);
    const [last] = fence.envelopes;
    assert.deepEqual({ ...after[3], position: "" }, { ...last, position: "" });
    assert.deepEqual(await store.head(sent.stream), headAfter(fence));
    assert.ok(last !== undefined && checkEnvelope(headAfter(sent), last).ok);
  });

  check("keeps nothing but places and digests where that is asked for", async (store) => {
    const { sent } = await appendPrepared(store, {});
    await store.erase(
      erasing({ fences: [prepared({ stream: sent.stream, expected: headAfter(sent) })], kept: "digests" }),
    );
    const [first] = await all(store.readStream(sent.stream, { limit: 1 }));
    assert.deepEqual([first?.type, first?.version, first?.at], ["", 0, ""]);
  });

  check("removes streams with their heads, and leaves others as they are", async (store) => {
    const [one, other] = [await appendPrepared(store, { count: 2 }), await appendPrepared(store, { count: 2 })];
    const kept = await all(store.readStream(other.sent.stream));
    const result = await store.erase(erasing({ removed: [one.sent.stream, "blob-not-there"] }));
    assert.equal(result.status === "erased" && result.removedEvents, 2);
    assert.deepEqual(await all(store.readStream(one.sent.stream)), []);
    assert.equal(await store.head(one.sent.stream), null);
    assert.deepEqual(await all(store.heads()), [{ stream: other.sent.stream, head: headAfter(other.sent) }]);
    assert.deepEqual(await all(store.readStream(other.sent.stream)), kept);
    assert.deepEqual(await all(store.readLog()), kept);
  });

  check("erases nothing where one stream is not at its head", async (store) => {
    const [one, other] = [await appendPrepared(store, {}), await appendPrepared(store, {})];
    const before = await all(store.readLog());
    const fences = [
      prepared({ stream: one.sent.stream, expected: headAfter(one.sent) }),
      prepared({ stream: other.sent.stream, expected: { revision: 0, digest: "0".repeat(64) } }),
    ];
    const result = await store.erase(erasing({ fences, removed: [one.sent.stream] }));
    assert.deepEqual(result, { status: "conflict", stream: other.sent.stream });
    assert.deepEqual(await all(store.readLog()), before);
  });

  check("destroys the naming keys of what it erases, and no others", async (store) => {
    if ((await store.takesLines?.()) !== true) return;
    const [one, other] = ["a", "b"].map((digit) => ({ ...prepared({}), namingKey: digit.repeat(64) }));
    assert.ok(one !== undefined && other !== undefined);
    for (const sent of [one, other]) await store.append(sent);
    await store.erase(erasing({ fences: [prepared({ stream: one.stream, expected: headAfter(one) })] }));
    assert.deepEqual(
      [await store.namingKey?.(one.stream), await store.namingKey?.(other.stream)],
      [null, other.namingKey],
    );
  });

  check("empties lines, keeps everything else of their events, and replaces the naming key", async (store) => {
    if ((await store.takesLines?.()) !== true) return;
    const data = ['{"facts":\t1,"more":\t2}', `${"s".repeat(22)}"one"`, `${"t".repeat(22)}"two"`].join("\n");
    const extra = { encoding: "lines", dataDigest: linesDigest(data) } as const;
    const first = { ...prepared({ data: [data, data], extra }), namingKey: "a".repeat(64) };
    await store.append(first);
    const { stream } = first;
    await store.snapshots?.put({ stream, projection: "p", version: 1 }, { revision: 0, data: "saved" });
    const before = await all(store.readStream(stream));
    const fence = prepared({ stream, expected: headAfter(first), extra: { encoding: "lines" } });
    const namingKey = `+${"b".repeat(64)}`;
    const lines = [{ fence, places: [{ revision: 1, lines: [2] }], namingKey }];
    const result = await store.erase(erasing({ lines }));
    assert.deepEqual(result.status === "erased" && [result.events, result.lines], [0, 1]);
    const after = await all(store.readStream(stream));
    const [kept, emptied] = before;
    assert.ok(kept !== undefined && emptied !== undefined);
    assert.deepEqual(after.slice(0, 2), [kept, { ...emptied, data: withErasedLines(emptied.data, new Set([2])) }]);
    assert.ok(checkEnvelope({ revision: 0, digest: kept.digest }, after[1] ?? emptied).ok);
    assert.deepEqual(await store.head(stream), headAfter(fence));
    assert.equal(await store.namingKey?.(stream), namingKey);
    assert.equal(await store.snapshots?.get({ stream, projection: "p", version: 1 }, 9), store.snapshots && null);
  });

  check("deletes snapshots of what it erases, and no others", async (store) => {
    const [one, other] = [await appendPrepared(store, {}), await appendPrepared(store, {})];
    const key = (stream: string) => ({ stream, projection: "p", version: 1 });
    for (const { sent } of [one, other]) await store.snapshots?.put(key(sent.stream), { revision: 0, data: "saved" });
    await store.erase(erasing({ fences: [prepared({ stream: one.sent.stream, expected: headAfter(one.sent) })] }));
    assert.equal(await store.snapshots?.get(key(one.sent.stream), 9), store.snapshots && null);
    assert.deepEqual(
      await store.snapshots?.get(key(other.sent.stream), 9),
      store.snapshots && { revision: 0, data: "saved" },
    );
  });

  check("saves no snapshot of what was read before an erasure, and any of what was read after it", async (store) => {
    const [one, other] = [await appendPrepared(store, {}), await appendPrepared(store, {})];
    const key = (stream: string) => ({ stream, projection: "p", version: 1 });
    const extra = { type: "ContentErased" };
    await store.erase(
      erasing({ fences: [prepared({ stream: one.sent.stream, expected: headAfter(one.sent), extra })] }),
    );
    const saved = async (stream: string, seen?: number) => {
      await store.snapshots?.put(key(stream), { revision: 0, data: "read" }, seen);
      return (await store.snapshots?.get(key(stream), 9)) ?? null;
    };
    assert.equal(await saved(one.sent.stream), null);
    assert.equal(await saved(one.sent.stream, 0), null);
    const there = store.snapshots === undefined ? null : { revision: 0, data: "read" };
    assert.deepEqual(await saved(one.sent.stream, 1), there);
    assert.deepEqual(await saved(other.sent.stream), there);
  });

  check(
    "deletes rows by key, moves checkpoints to what is left, and refuses a save of what was read before",
    async (store) => {
      const { views, storeId } = store;
      const [one, other] = [await appendPrepared(store, {}), await appendPrepared(store, {})];
      const last = (await all(store.readLog())).at(-1);
      if (views === undefined || last === undefined) return;
      const row = (key: string) => ({
        key,
        view: '"v"',
        position: last.position,
        revision: 0,
        eventId: last.id,
        quarantine: null,
      });
      const { position, id: eventId, stream, revision } = last;
      const begun = await views.begin("p", 1);
      const saved = await views.save(begun, {
        checkpoint: { storeId, position, eventId, stream, revision },
        events: 2,
        rows: [row(one.sent.stream), { ...row(other.sent.stream), places: [{ list: "all", at: "1" }] }],
      });
      const result = await store.erase(
        erasing({
          fences: [prepared({ stream: other.sent.stream, expected: headAfter(other.sent) })],
          rows: [other.sent.stream],
        }),
      );
      assert.deepEqual(result.status === "erased" && [result.rows, result.projections], [1, ["p"]]);
      const [build] = await views.builds("p");
      assert.ok(build !== undefined && saved.status === "saved");
      assert.deepEqual(
        (await views.rows(build, { after: null, limit: 9 })).map(({ key }) => key),
        [one.sent.stream],
      );
      const [first] = await all(store.readStream(one.sent.stream));
      assert.deepEqual([build.checkpoint?.eventId, build.checkpoint?.position], [first?.id, first?.position]);
      assert.deepEqual(await views.save(saved.build, { checkpoint: null, events: 2, rows: [] }), {
        status: "conflict",
      });
    },
  );

  check("scrubs, also where nothing was erased", async (store) => {
    assert.equal((await store.scrub()).status, "done");
    assert.equal((await store.scrub({ force: true })).status, "done");
  });
}

const erasing = (of: Partial<StreamErasure>): StreamErasure => ({
  ...{ orderId: "era_1", fences: [], lines: [], kept: "skeleton", removed: [], rows: [] },
  ...of,
});
