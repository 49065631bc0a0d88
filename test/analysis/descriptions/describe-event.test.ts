import { expect, test } from "vitest";
import { describeEvent } from "../../../src/analysis/descriptions/describe-event.ts";
import { type BlockLabels, noLabels, noteLabels } from "../../../src/analysis/descriptions/labels.ts";
import type { Actor } from "../../../src/domain/actor.ts";
import type { ConversationEvent, ConversationEventOf } from "../../../src/domain/events/event.ts";
import { assistant, system, toolCall, toolResult, user } from "../../../src/domain/make-block.ts";
import { byStream, type Projection } from "../../../src/projections/projection.ts";
import {
  appended,
  digest,
  finished,
  fold,
  inferenceId,
  json,
  received,
  requested,
  runCompleted,
  runStarted,
  settingsDeclared,
} from "../../support/projections/recorded-events.ts";

const layer: Actor = { kind: "middleware", name: "shorten", version: "1.2.0", frame: "0.0", direction: "request" };
const call = json(toolCall({ callId: "call_1", name: "weather", arguments: '{"city":"Rome"}' }), "call");
const result = json(toolResult({ callId: "call_1", output: "sunny" }), "result");

/** Every event in words, as readers of the log follow them. */
const told: Projection<{ readonly labels: BlockLabels; readonly words: string[] }> = {
  ...{ name: "told", version: 1, lineage: "inherit", key: byStream },
  initial: () => ({ labels: noLabels(), words: [] }),
  apply(view, recorded) {
    noteLabels(view.labels, recorded);
    view.words.push(describeEvent(view.labels, recorded));
    return view;
  },
};

const words = (...events: Parameters<typeof fold>[1]): readonly string[] => fold(told, events).words;

test("tells what was said, and which layers a run has", () => {
  expect(words([appended(user("Hello"), "hello")], [runStarted])).toEqual([
    "user “Hello”",
    "run started: redact > scripted",
  ]);
});

test("tells how a conversation began and what it is called", () => {
  expect(
    words(
      [
        {
          type: "ConversationStarted",
          version: 1,
          data: { origin: { type: "import", source: "tau.jsonl" }, title: "One" },
        },
      ],
      [{ type: "ConversationRelabelled", version: 1, data: { title: "Two" } }],
      [{ type: "ConversationRelabelled", version: 1, data: { labels: { team: "a" } } }],
    ),
  ).toEqual(["conversation started as import of tau.jsonl: One", "named Two", "labelled team=a"]);
});

test("says that a block appended during a run waits for its end", () => {
  expect(
    words([runStarted], [appended(user("More"), "more")], [runCompleted], [appended(user("After"), "after")]).slice(1),
  ).toEqual(["user “More” (pending)", "run completed", "user “After”"]);
});

test("says how a request was sent, and who broke the chain", () => {
  const anchor = { kind: "response", id: "resp_1", inferenceId: "inf_1", length: 3 };
  const divergence = { index: 4, blockId: "blk_1", change: "edited", actor: layer } as const;
  const rejected = { anchor: { kind: "response", id: "resp_2" }, reason: "no-anchor", divergence } as const;
  const input = { turn: digest, held: digest, blocks: 5 };
  expect(
    words(
      [requested("1")],
      [requested("2", { input, decision: { strategy: "chained", reason: null, anchor, sendFrom: 3 } })],
      [
        requested("3", {
          input,
          attempt: 1,
          requestBytes: 12_345,
          decision: { strategy: "rebased", reason: "no-anchor", back: 2, anchor, sendFrom: 3, rejected },
        }),
      ],
      [requested("4", { decision: { strategy: "full", reason: "refused" } })],
      [
        requested("5", {
          decision: {
            reason: "no-anchor",
            rejected: { ...rejected, divergence: { ...divergence, change: "moved", actor: null } },
          },
        }),
      ],
    ),
  ).toEqual([
    "asked full, 1 of 1 block, 1,000 bytes: nothing was asked at this endpoint before",
    "asked chained, 2 of 5 blocks, 1,000 bytes",
    "asked (attempt 2) rebased (2 answers back), 2 of 5 blocks, 12,345 bytes: shorten@1.2.0 modified block 4",
    "asked full, 1 of 1 block, 1,000 bytes: what its server held was given up: it was refused, lost or deleted",
    "asked full, 1 of 1 block, 1,000 bytes: block 4 was moved",
  ]);
});

test("says what was answered, and how it went wrong", () => {
  const usage = { inputTokens: 1_200, cachedInputTokens: 0, outputTokens: 34, reasoningTokens: 0, reported: null };
  expect(
    words(
      [received("1", [call, json(assistant("Wait."), "wait")], { usage })],
      [received("2", [], { status: "incomplete", isComplete: false })],
      [
        {
          type: "InferenceFailed",
          version: 1,
          data: {
            inferenceId: inferenceId("3"),
            kind: "rate-limited",
            outcome: "rejected",
            message: "slow down",
            status: 429,
            code: null,
            param: null,
            partial: [],
          },
        },
      ],
      [
        {
          type: "InferenceFailed",
          version: 1,
          data: {
            inferenceId: inferenceId("3"),
            kind: "connection",
            outcome: "unknown",
            message: "it broke",
            status: null,
            code: null,
            param: null,
            partial: [],
          },
        },
      ],
      [
        {
          type: "AnchorInvalidated",
          version: 1,
          data: { scope: "here", anchor: { kind: "response", id: "resp_1" }, reason: "not-found" },
        },
      ],
      [{ type: "AnchorInvalidated", version: 1, data: { scope: "here", anchor: null, reason: "refused" } }],
      [
        {
          type: "CapabilityLearned",
          version: 1,
          data: { scope: "here", capability: "chain", value: false, reason: "no echo" },
        },
      ],
      [{ type: "ReasoningQuarantined", version: 1, data: { scope: "here", blockIds: ["a", "b"], reason: "bad blob" } }],
    ),
  ).toEqual([
    "answered tool_call weather, assistant “Wait.”, 1,200 tokens in, 34 out",
    "answered (incomplete) nothing, tokens not told",
    "refused (429): slow down",
    "failed (connection): it broke",
    "not continued from again: resp_1 (its server has lost it)",
    "not continued from again: anything at this endpoint (the server refused to continue from it)",
    "learnt chain = false: no echo",
    "2 reasoning blocks not sent again: bad blob",
  ]);
});

test("names blocks of edits by what they are", () => {
  const edited = {
    direction: "request",
    from: "given/0",
    after: digest,
    edits: [
      { op: "replace", blockId: result.id, block: { ref: { id: result.id, digest: result.digest } } },
      { op: "insert", after: null, blocks: [{ block: json(system("Be kind."), "kind") }] },
      { op: "remove", blockIds: [call.id] },
      { op: "move", blockId: result.id, after: null },
    ],
  } as const;
  const shown = words(
    [received("1", [call])],
    [{ type: "ToolStarted", version: 1, data: { blockId: call.id, name: "weather", idempotencyKey: "k" } }],
    [finished(call, result)],
    // The schemas' types are mutable, what they describe is not.
    [{ type: "TurnEdited", version: 1, data: { ...edited, edits: [...edited.edits] } }],
    [{ type: "TurnEdited", version: 1, data: { ...edited, direction: "response", edits: [] } }],
  );
  expect(shown.slice(1)).toEqual([
    "weather began",
    "ok in 1,234 ms: “sunny”",
    "handed on with: tool_result weather modified, system added, tool_call weather removed, tool_result weather moved",
    "gave back another Turn",
  ]);
});

test("shows what a layer's effect gave as it shows what a tool gave, cut, and nothing of one that gave nothing", () => {
  const effect = (answer: ConversationEventOf<"EffectFinished">["data"]["answer"]): [ConversationEvent] => [
    { type: "EffectFinished", version: 1, data: { effectId: call.id, answer, durationMs: 1_234.4 } },
  ];
  const moon = { phase: "full\u001b[31m", age: [14, "x".repeat(1_000)] };
  expect(
    words(
      effect({ outcome: "ok", value: "the moon" }),
      effect({ outcome: "ok", value: moon }),
      effect({ outcome: "ok", value: 0 }),
      effect({ outcome: "ok", value: null }),
      effect({ outcome: "error", message: "no moon" }),
    ),
  ).toEqual([
    "ok in 1,234 ms: “the moon”",
    `ok in 1,234 ms: ${JSON.stringify(moon).slice(0, 159)}…`,
    "ok in 1,234 ms: 0",
    "ok in 1,234 ms",
    "failed in 1,234 ms: no moon",
  ]);
});

test("says how a run and a late tool ended", () => {
  expect(
    words(
      [finished(call, result, { outcome: "timeout", late: true })],
      [{ type: "RunFailed", version: 1, data: { kind: "layer-error", message: "no", after: digest } }],
      [{ type: "RunCancelled", version: 1, data: { reason: "enough", after: digest } }],
      [settingsDeclared({ model: "m-1", tools: ["a"] })],
    ),
  ).toEqual([
    "timeout in 1,234 ms, too late: “sunny”",
    "run failed (layer-error): no",
    "run cancelled: enough",
    "settings 00000000: m-1, 1 tool",
  ]);
});

test("keeps control and direction characters out of the words", () => {
  expect(words([appended(user("a\u001b[31mred\u202e\n\tend"), "red")])).toEqual(["user “a [31mred end”"]);
});
