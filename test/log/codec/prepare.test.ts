import fc from "fast-check";
import { expect, test } from "vitest";
import { envelopeBytes, escapedBytes } from "../../../src/log/codec/bounds.ts";
import { checkEnvelope } from "../../../src/log/codec/envelope.ts";
import { type NewEvent, type PrepareOptions, prepareAppend } from "../../../src/log/codec/prepare.ts";
import { maxAppendBytes, maxEventBytes } from "../../../src/log/ports/event-bounds.ts";
import type { Envelope, Head, PreparedAppend } from "../../../src/log/ports/event-store.ts";
import { headAfter } from "../../../src/testing/contracts/prepared.ts";
import { noted, sources } from "../../support/log/noted.ts";

test("fixes place, time, actor and digests of events that begin a stream", () => {
  const { appends, blobs } = prepare([noted({ n: 1 }, { runId: "run_1", frame: "0" }), noted({ n: 2 })]);
  expect(blobs).toEqual([]);
  expect(appends).toHaveLength(1);
  const [append] = appends;
  expect(append?.expectedHead).toBeNull();
  expect(append?.envelopes).toMatchObject([
    {
      stream: "conversation-1",
      revision: 0,
      at: "2026-01-01T00:00:00.000Z",
      runId: "run_1",
      frame: "0",
      data: '{"n":1}',
    },
    { stream: "conversation-1", revision: 1, at: "2026-01-01T00:00:00.000Z", actor: { kind: "app" }, data: '{"n":2}' },
  ]);
  expect(Object.keys(append?.envelopes[1] ?? {})).not.toContain("runId");
  expectChain(null, appends);
});

test("goes on after a head", () => {
  const [first] = prepare([noted({})]).appends;
  if (first === undefined) throw new Error("there is one append");
  const head = headAfter(first);
  const { appends } = prepare([noted({}), noted({})], { head });
  expect(appends[0]?.expectedHead).toEqual(head);
  expectChain(head, appends);
});

test("never goes back behind the time of the event before", () => {
  const lastAt = "2027-05-05T05:05:05.555Z";
  const at = (options: Partial<PrepareOptions>): unknown => prepare([noted({})], options).appends[0]?.envelopes[0]?.at;
  expect(at({ lastAt })).toBe(lastAt);
  expect(at({ lastAt, clock: () => Date.parse("2027-05-05T05:05:05.556Z") })).toBe("2027-05-05T05:05:05.556Z");
});

test("writes times as dates are written", () => {
  const years = fc.integer({ min: Date.parse("-002000-01-01"), max: Date.parse("+012000-01-01") });
  // The same second may be asked for again, and again after another one.
  const times = fc.array(fc.tuple(years, fc.integer({ min: 0, max: 2_000 })), { minLength: 1, maxLength: 5 });
  fc.assert(
    fc.property(times, (drawn) => {
      for (const at of drawn.flatMap(([ms, more]) => [ms, ms + more, ms + 0.5])) {
        const [append] = prepare([noted({}, { at })]).appends;
        expect(append?.envelopes[0]?.at).toBe(new Date(at).toISOString());
      }
    }),
  );
  expect(() => prepare([noted({}, { at: Number.NaN })])).toThrow(RangeError);
});

test("dates nothing after what came of it, where that has its time already", () => {
  const at = Date.parse("2025-12-31T23:59:59.000Z");
  const { appends } = prepare([noted({}), noted({}, { at }), noted({})]);
  expect(appends[0]?.envelopes.map((envelope) => envelope.at)).toEqual([
    "2025-12-31T23:59:59.000Z",
    "2025-12-31T23:59:59.000Z",
    "2026-01-01T00:00:00.000Z",
  ]);
});

test("draws other ids for the same events", () => {
  const events = [noted({})];
  expect(prepare(events).appends[0]?.envelopes[0]?.id).not.toBe(prepare(events).appends[0]?.envelopes[0]?.id);
});

test("brings an event of many middling strings under its bound, with as few blobs as can be", () => {
  const texts = Array.from({ length: 10 }, (_, index) => String(index).repeat(30_000 + index));
  const { appends, blobs } = prepare([noted({ texts })]);
  expect(blobs.map((blob) => blob.text[0])).toEqual(["8", "9"]);
  expect(bytesOf(appends)[0]).toBeLessThanOrEqual(maxEventBytes);
});

test("leaves an event alone that meets its bound exactly, and shrinks one that is a byte over", () => {
  const filled = (count: number): NewEvent =>
    noted({ a: "a".repeat(60_000), b: "b".repeat(60_000), c: "c".repeat(60_000), d: "d".repeat(count) });
  const [size = 0] = bytesOf(prepare([filled(1)]).appends);
  const room = maxEventBytes - size + 1;
  expect(bytesOf(prepare([noted({})]).appends)[0]).toBeLessThan(1_000);
  const padded = (extra: number): NewEvent =>
    noted({ ...filled(60_000).event.data, e: "e".repeat(room - 60_000 - '\\"e\\":\\"\\",'.length + extra) });
  const exact = prepare([padded(0)]);
  expect(exact.blobs).toEqual([]);
  expect(bytesOf(exact.appends)).toEqual([maxEventBytes]);
  expect(prepare([padded(1)]).blobs).toHaveLength(1);
});

test("splits what is too big for one append before its last event", () => {
  const large = (): NewEvent => noted({ list: Array.from({ length: 5 }, () => "x".repeat(40_000)) });
  const events = [large(), large(), large(), large(), noted({}), large(), noted({ last: true })];
  const { appends } = prepare(events);
  expect(appends.map((append) => append.envelopes.length)).toEqual([5, 1, 1]);
  for (const append of appends)
    expect(bytesOf([append]).reduce((sum, size) => sum + size)).toBeLessThanOrEqual(maxAppendBytes);
  expectChain(null, appends);
});

test.each(["a", '"', "\u0001", "é", "€", "😀", "\ud800"])(
  "keeps appends of text like %j within their bound",
  (unit) => {
    const thousand = unit.repeat(1_000);
    const bytes = escapedBytes(JSON.stringify(thousand));
    const actor = { kind: "middleware", name: thousand, version: "1", frame: "0", direction: "request" } as const;
    const events = Array.from({ length: 12 }, () => {
      const texts = Array.from({ length: Math.floor(100_000 / bytes) }, () => thousand);
      return noted({ texts }, { actor });
    });
    const { appends } = prepare(events);
    expect(appends.length).toBeGreaterThan(1);
    for (const append of appends)
      expect(bytesOf([append]).reduce((sum, size) => sum + size)).toBeLessThanOrEqual(maxAppendBytes);
    expectChain(null, appends);
  },
);

test("keeps in one append what fits in one", () => {
  const events = Array.from({ length: 1_000 }, (_, index) => noted({ index }));
  expect(prepare(events).appends).toHaveLength(1);
});

test("prepares no events as an append of none", () => {
  expect(prepare([])).toEqual({
    appends: [{ stream: "conversation-1", expectedHead: null, envelopes: [] }],
    blobs: [],
  });
});

function prepare(events: readonly NewEvent[], options: Partial<PrepareOptions> = {}) {
  return prepareAppend({ stream: "conversation-1", head: null, lastAt: null, events, ...sources(), ...options });
}

const bytesOf = (appends: readonly PreparedAppend[]): number[] =>
  appends.flatMap((append) => append.envelopes.map((envelope: Envelope) => envelopeBytes(envelope)));

function expectChain(start: Head | null, appends: readonly PreparedAppend[]): void {
  let head = start;
  for (const append of appends) {
    expect(append.expectedHead).toEqual(head);
    for (const envelope of append.envelopes) {
      const checked = checkEnvelope(head, envelope);
      expect(checked).toMatchObject({ ok: true });
      if (checked.ok) head = checked.value;
    }
  }
}
