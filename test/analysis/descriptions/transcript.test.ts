import { expect, test } from "vitest";
import { transcript } from "../../../src/analysis/descriptions/transcript.ts";
import type { Actor } from "../../../src/domain/actor.ts";
import { assistant, toolCall, toolResult, user } from "../../../src/domain/make-block.ts";
import {
  appended,
  digest,
  finished,
  fold,
  json,
  received,
  runCompleted,
} from "../../support/projections/recorded-events.ts";

const call = json(toolCall({ callId: "call_1", name: "weather", arguments: '{"city":"Rome"}' }), "call");
const result = json(toolResult({ callId: "call_1", output: "sunny" }), "result");
const ada: Actor = { kind: "user", name: "ada" };

test("is what was said, in the order of the log, whole", () => {
  const { utterances } = fold(transcript, [
    [appended(user("Will it rain?"), "rain"), { actor: ada }],
    [received("1", [call])],
    [finished(call, result), { actor: { kind: "tool", name: "weather" } }],
    [received("2", [json(assistant("No."), "no")])],
    [runCompleted],
  ]);
  expect(utterances.map(({ revision, kind, name, text }) => [revision, kind, name, text])).toEqual([
    [0, "user", null, "Will it rain?"],
    [1, "tool_call", "weather", '{"city":"Rome"}'],
    [2, "tool_result", "weather", "sunny"],
    [3, "assistant", null, "No."],
  ]);
  expect(utterances[0]).toMatchObject({ actor: ada, at: "2026-03-01T12:00:00.000Z", blockId: "blk_000000000000rain" });
});

test("keeps what was said when middleware changes the Turn afterwards", () => {
  const said = json(user("my mail is a@b.c"), "mail");
  const edits = [{ op: "remove" as const, blockIds: [said.id] }];
  const { utterances } = fold(transcript, [
    [{ type: "BlockAppended", version: 1, data: { block: said } }],
    [{ type: "TurnEdited", version: 1, data: { direction: "request", from: "given/0", edits, after: digest } }],
  ]);
  expect(utterances.map(({ text }) => text)).toEqual(["my mail is a@b.c"]);
});

test("leaves out the calls of an answer that did not complete", () => {
  const partial = { scope: "here", partial: true } as const;
  const { utterances } = fold(transcript, [
    [
      received(
        "1",
        [
          { ...call, wire: partial },
          { ...json(assistant("I beg"), "beg"), wire: partial },
        ],
        { status: "incomplete" },
      ),
    ],
  ]);
  expect(utterances.map(({ text }) => text)).toEqual(["I beg"]);
});
