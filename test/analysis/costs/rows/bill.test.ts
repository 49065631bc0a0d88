import { describe, expect, test } from "vitest";
import { answerCounts } from "../../../../src/analysis/costs/rows/answer-counts.ts";
import { type BillView, billOf, cellsOf } from "../../../../src/analysis/costs/rows/bill.ts";
import type { ConversationEvent, ConversationEventOf } from "../../../../src/domain/events/event.ts";
import type { ReportedUsage } from "../../../../src/domain/events/shared.ts";
import { blockIdSchema, conversationIdSchema, runIdSchema, settingsNameSchema } from "../../../../src/domain/ids.ts";
import {
  digest,
  fold,
  inferenceId,
  received,
  requested,
  runCompleted,
  runStarted,
  settingsDeclared,
} from "../../../support/projections/recorded-events.ts";

const bill = billOf(answerCounts);

const usage = (counts?: ReportedUsage["counts"], reported: ReportedUsage["reported"] = null): ReportedUsage => ({
  ...{ inputTokens: 100, cachedInputTokens: 40, outputTokens: 20, reasoningTokens: 5 },
  ...(counts === undefined ? {} : { counts }),
  reported,
});

type FailedData = ConversationEventOf<"InferenceFailed">["data"];

const failed = (name: string, changes: Partial<FailedData>): ConversationEvent => ({
  type: "InferenceFailed",
  version: 1,
  data: {
    ...{ inferenceId: inferenceId(name), kind: "stream-cut", outcome: "unknown", message: "cut" },
    ...{ status: null, code: null, param: null, partial: [], ...changes },
  },
});

/** The members of the only cell that differ from nothing. */
const onlyCell = (view: BillView) => {
  const [cell, ...others] = cellsOf(view);
  expect(others).toEqual([]);
  return cell;
};

describe("an answer of an older version, without counts", () => {
  const declared = settingsDeclared({ model: "gpt-5.6-sol", service_tier: "flex" });
  const reported = {
    ...{ input_tokens: 100, output_tokens: 20 },
    input_tokens_details: { cached_tokens: 40, cache_write_tokens: 50 },
  };

  test("is counted from what its provider reported, by the codec of its request", () => {
    const events = [[declared], [requested("1")], [received("1", [], { usage: usage(undefined, reported) })]] as const;
    expect(onlyCell(fold(bill, events))).toMatchObject({
      ...{ uncached: 10, read: 40, written: { any: 50 }, output: 20, requests: 1, untold: 0 },
      ...{ declared: "gpt-5.6-sol", served: null, tier: null },
    });
  });

  test("has the model and the tier that it repeated from the settings, and was recorded without", () => {
    const answer = received("1", [], { usage: usage(undefined, reported), echoed: ["model", "service_tier"] });
    expect(onlyCell(fold(bill, [[declared], [requested("1")], [answer]]))).toMatchObject({
      ...{ served: "gpt-5.6-sol", tier: "flex" },
    });
  });

  test("has them also where its settings were recorded as what differs from others", () => {
    const other = settingsNameSchema.parse("1".repeat(64));
    const differing: ConversationEvent = {
      type: "SettingsDeclared",
      version: 2,
      data: {
        digest: other,
        settings: { model: "gpt-5.4" },
        base: settingsNameSchema.parse(digest),
        without: ["store"],
        bytes: 9,
      },
    };
    const answer = received("1", [], { usage: usage(undefined, reported), echoed: ["model", "service_tier"] });
    const view = fold(bill, [[declared], [differing], [requested("1", { settingsDigest: other })], [answer]]);
    expect(onlyCell(view)).toMatchObject({ served: "gpt-5.4", tier: "flex" });
  });

  test("of a codec that turnlog does not know has the four counts of its usage, and 0 may be a count that was not reported", () => {
    const asked = requested("1", { encoder: "mine/1" });
    expect(onlyCell(fold(bill, [[asked], [received("1", [], { usage: usage() })]]))).toMatchObject({
      ...{ uncached: 60, read: 40, written: {}, output: 20, reasoning: 5, unknownCache: 0 },
    });
    const uncached = { ...usage(), cachedInputTokens: 0 };
    expect(onlyCell(fold(bill, [[asked], [received("1", [], { usage: uncached })]]))).toMatchObject({
      ...{ uncached: 100, unknownCache: 100 },
    });
  });
});

describe("a request", () => {
  test("without an outcome so far counts as one that told nothing, and then as what it told", () => {
    const asked = [[requested("1", { requestBytes: 70 })]] as const;
    expect(onlyCell(fold(bill, asked))).toMatchObject({ requests: 1, bytes: 70, untold: 1, uncached: 0 });
    const answered = fold(bill, [
      ...asked,
      [received("1", [], { usage: usage({ input: 7, cacheRead: 0, output: 1 }) })],
    ]);
    expect(onlyCell(answered)).toMatchObject({ requests: 1, bytes: 70, untold: 0, uncached: 7, output: 1 });
  });

  test("that its server refused costs nothing; one that broke off may cost something that nobody told", () => {
    const asked = requested("1");
    expect(onlyCell(fold(bill, [[asked], [failed("1", { outcome: "rejected" })]]))).toMatchObject({
      requests: 1,
      untold: 0,
    });
    expect(onlyCell(fold(bill, [[asked], [failed("1", {})]]))).toMatchObject({ requests: 1, untold: 1 });
  });

  test("that failed has the usage that had come", () => {
    const told = failed("1", { usage: usage({ input: 9, cacheRead: 2, output: 1 }) });
    expect(onlyCell(fold(bill, [[requested("1")], [told]]))).toMatchObject({
      uncached: 7,
      read: 2,
      output: 1,
      untold: 0,
    });
  });

  test("whose run ended without its answer told nothing", () => {
    const view = fold(bill, [[runStarted], [requested("1")], [runCompleted]]);
    expect(view.open).toEqual([]);
    expect(onlyCell(view)).toMatchObject({ requests: 1, untold: 1 });
  });

  test("that cannot be read leaves the tokens of its answer, which were spent", () => {
    const view = fold(bill, [[received("1", [], { usage: usage({ input: 9, cacheRead: 2, output: 1 }) })]]);
    expect(onlyCell(view)).toMatchObject({ requests: 0, uncached: 7, read: 2, output: 1, declared: null });
  });

  test("counts on the day on which it was sent, at its address", () => {
    const scope = "openai-responses https://api.openai.com/v1 organization= project= codec=x owner=4d7b";
    const view = fold(bill, [
      [requested("1", { scope }), { at: "2026-03-01T23:59:59.999Z" }],
      [received("1", []), { at: "2026-03-02T00:00:01.000Z" }],
    ]);
    expect(onlyCell(view)).toMatchObject({ day: "2026-03-01", endpoint: "openai-responses https://api.openai.com/v1" });
  });

  test.each([
    [16_000, 0],
    [16_001, 16_000],
    [200_000, 128_000],
    [200_001, 200_000],
    [3_000_000, 1_000_000],
  ])("with %i tokens of input exceeds %i", (input, size) => {
    const view = fold(bill, [
      [requested("1")],
      [received("1", [], { usage: usage({ input, cacheRead: 0, output: 1 }) })],
    ]);
    expect(onlyCell(view)?.size).toBe(size);
  });

  test("with the same prices as another shares its cell", () => {
    const one = (name: string) => [
      [requested(name)] as const,
      [
        received(name, [], {
          usage: usage({ input: 10, cacheRead: 4, cacheWritten: { "5m": 2 }, output: 3, usd: "0.1" }),
        }),
      ] as const,
    ];
    expect(onlyCell(fold(bill, [...one("1"), ...one("2")]))).toMatchObject({
      ...{ requests: 2, uncached: 8, read: 8, written: { "5m": 4 }, output: 6, usd: "0.2", isPaid: true },
    });
  });
});

test("a server's compaction outside runs is counted, without a request of the log", () => {
  const compacted: ConversationEvent = {
    type: "TurnCompacted",
    version: 1,
    data: {
      ...{ edits: [], after: settingsNameSchema.parse(digest), compaction: { how: "server", because: "asked" } },
      window: {
        scope: "s https://a",
        of: "resp_1",
        id: null,
        model: "m",
        usage: usage({ input: 5, output: 2 }),
        rest: {},
      },
    },
  };
  expect(onlyCell(fold(bill, [[compacted]]))).toMatchObject({
    ...{ requests: 0, uncached: 5, output: 2, unknownCache: 5, declared: "m", endpoint: "s https://a" },
  });
});

test("a fork of a subagent's conversation was opened by nobody but itself", () => {
  const conversationId = conversationIdSchema.parse("cnv_parent");
  const runId = runIdSchema.parse("run_0000000000000001");
  const started = (origin: ConversationEventOf<"ConversationStarted">["data"]["origin"]): ConversationEvent => ({
    type: "ConversationStarted",
    version: 1,
    data: { origin, labels: { user: "ann" } },
  });
  const child = started({ type: "child", conversationId, runId, blockId: blockIdSchema.parse(`${runId}/0.0/1`) });
  const fork = started({ type: "fork", conversationId, revision: 3, digest: settingsNameSchema.parse(digest) });
  expect(fold(bill, [[child]])).toMatchObject({
    cause: { conversation: "cnv_parent", runId },
    labels: { user: "ann" },
  });
  // A fork's view begins with what its parent declared.
  expect(fold(bill, [[child], [fork]])).toMatchObject({ cause: null, labels: { user: "ann" } });
});
