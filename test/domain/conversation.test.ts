import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Command, decide, draftState, evolve, initialState } from "../../src/domain/conversation.ts";
import type { ConversationEvent } from "../../src/domain/events/event.ts";
import { eventOf, given, runId, stateAfter } from "./conversation-builders.ts";

const begun = eventOf("ConversationStarted", { origin: { type: "new" } });
const runStarted = eventOf("RunStarted");
const requested = eventOf("InferenceRequested");
const received = eventOf("ResponseReceived");
const failed = eventOf("InferenceFailed");
const toolStarted = eventOf("ToolStarted");
const { late: _, ...finishedData } = eventOf("ToolFinished").data;
const toolFinished: ConversationEvent = { type: "ToolFinished", version: 1, data: finishedData };
const completed = eventOf("RunCompleted");
const { inferenceId } = requested.data;
const { blockId } = toolStarted.data;

/** A conversation without title, as a first append makes it. */
const bare: ConversationEvent = { type: "ConversationStarted", version: 1, data: { origin: { type: "new" } } };
const running = [begun, runStarted];
const asked = [...running, requested];

const commands = {
  start: { type: "StartConversation", data: begun.data },
  relabel: { type: "Relabel", data: { title: "Rome", labels: { team: "travel" } } },
  append: { type: "AppendBlock", data: eventOf("BlockAppended").data },
  declare: { type: "DeclareSettings", data: eventOf("SettingsDeclared").data },
  startRun: { type: "StartRun", runId, data: runStarted.data },
  edit: { type: "EditTurn", runId, data: eventOf("TurnEdited").data },
  request: { type: "RequestInference", runId, data: requested.data },
  receive: { type: "ReceiveResponse", runId, data: received.data },
  fail: { type: "FailInference", runId, data: failed.data },
  invalidate: { type: "InvalidateAnchor", data: eventOf("AnchorInvalidated").data },
  learn: { type: "LearnCapability", data: eventOf("CapabilityLearned").data },
  quarantine: { type: "QuarantineReasoning", data: eventOf("ReasoningQuarantined").data },
  startTool: { type: "StartTool", runId, data: toolStarted.data },
  finishTool: { type: "FinishTool", runId, data: finishedData },
  finishLate: { type: "FinishToolLate", data: finishedData },
  endRun: { type: "EndRun", runId, event: completed },
} as const satisfies Record<string, Command>;

describe("a conversation", () => {
  test("starts once, so that starting it again is harmless", () => {
    given().when(commands.start).emits(begun);
    given(begun).when(commands.start).emitsNothing();
  });

  test("starts by itself before the first block, label, settings or run", () => {
    given().when(commands.append).emits(bare, eventOf("BlockAppended"));
    given()
      .when(commands.relabel)
      .emits(bare, { type: "ConversationRelabelled", version: 1, data: commands.relabel.data });
    given().when(commands.declare).emits(bare, eventOf("SettingsDeclared"));
    given().when(commands.startRun).emits(bare, runStarted);
  });

  test("takes a block once, by its id, whether a run is open or not", () => {
    given(begun).when(commands.append).emits(eventOf("BlockAppended"));
    given(begun, eventOf("BlockAppended")).when(commands.append).emitsNothing();
    given(...running, eventOf("BlockAppended"))
      .when(commands.append)
      .emitsNothing();
  });

  test("declares settings once per digest", () => {
    given(begun, eventOf("SettingsDeclared")).when(commands.declare).emitsNothing();
    const digest = "9".repeat(64);
    given(begun, eventOf("SettingsDeclared"))
      .when({ type: "DeclareSettings", data: { digest, settings: {} } })
      .emits(eventOf("SettingsDeclared", { digest, settings: {} }));
  });

  test("is relabelled when that changes its title or a label", () => {
    const relabelled = eventOf("ConversationRelabelled", commands.relabel.data);
    given(begun, relabelled).when(commands.relabel).emitsNothing();
    given(begun, relabelled)
      .when({ type: "Relabel", data: { labels: { team: "travel" } } })
      .emitsNothing();
    const back = { title: "Weather" };
    given(begun, relabelled)
      .when({ type: "Relabel", data: back })
      .emits({ type: "ConversationRelabelled", version: 1, data: back });
  });
});

describe("a run", () => {
  test("is refused while one is open, the same one included: two callers must not both go", () => {
    given(begun).when(commands.startRun).emits(runStarted);
    given(...running)
      .when(commands.startRun)
      .isRefused({ code: "run-open", runId });
    given(...running)
      .when({ ...commands.startRun, runId: "run_0000000000000000" })
      .isRefused({ code: "run-open", runId });
  });

  test("is refused when it has ended: its ids would stand twice", () => {
    given(...running, completed)
      .when(commands.startRun)
      .isRefused({ code: "run-repeated", runId });
    given(...running, completed)
      .when({ ...commands.startRun, runId: "run_0000000000000000" })
      .emits(runStarted);
  });

  test("does nothing any more once it has ended, or is another one", () => {
    const { edit, request, receive, fail, startTool, finishTool, endRun } = commands;
    for (const command of [edit, request, receive, fail, startTool, finishTool, endRun]) {
      given(...asked, completed)
        .when(command)
        .isRefused({ code: "run-not-open", runId });
      given(begun).when(command).isRefused({ code: "run-not-open", runId });
      const other = "run_0000000000000000";
      given(...asked)
        .when({ ...command, runId: other })
        .isRefused({ code: "run-not-open", runId: other });
    }
  });

  test("ends in one of three ways", () => {
    for (const event of [completed, eventOf("RunFailed"), eventOf("RunCancelled")]) {
      given(...running)
        .when({ type: "EndRun", runId, event })
        .emits(event);
      given(...running, event)
        .when({ ...commands.startRun, runId: "run_0000000000000000" })
        .emits(runStarted);
    }
  });

  test("records every edit of its Turns", () => {
    given(...running)
      .when(commands.edit)
      .emits(eventOf("TurnEdited"));
  });
});

describe("an inference", () => {
  test("is requested once", () => {
    given(...running)
      .when(commands.request)
      .emits(requested);
    given(...asked)
      .when(commands.request)
      .isRefused({ code: "inference-repeated", inferenceId });
    given(...asked, received)
      .when(commands.request)
      .isRefused({ code: "inference-repeated", inferenceId });
  });

  test("is answered once, by a response or a failure", () => {
    given(...asked)
      .when(commands.receive)
      .emits(received);
    given(...asked)
      .when(commands.fail)
      .emits(failed);
    for (const answer of [received, failed]) {
      given(...asked, answer)
        .when(commands.receive)
        .emitsNothing();
      given(...asked, answer)
        .when(commands.fail)
        .emitsNothing();
    }
  });

  test("that was never requested cannot be answered", () => {
    given(...running)
      .when(commands.receive)
      .isRefused({ code: "inference-not-open", inferenceId });
    given(...running)
      .when(commands.fail)
      .isRefused({ code: "inference-not-open", inferenceId });
  });
});

describe("a tool", () => {
  test("is started once by its call's block: a second caller must not run it too", () => {
    given(...running)
      .when(commands.startTool)
      .emits(toolStarted);
    given(...running, toolStarted)
      .when(commands.startTool)
      .isRefused({ code: "tool-repeated", blockId });
    given(...running, toolFinished)
      .when(commands.startTool)
      .isRefused({ code: "tool-repeated", blockId });
  });

  test("finishes once, also when it never started: recovery answers such calls", () => {
    given(...running, toolStarted)
      .when(commands.finishTool)
      .emits(toolFinished);
    given(...running)
      .when(commands.finishTool)
      .emits(toolFinished);
    given(...running, toolFinished)
      .when(commands.finishTool)
      .emitsNothing();
  });

  test("that came back late is recorded once, and its call is still to be answered", () => {
    const late = eventOf("ToolFinished");
    given(...running, completed)
      .when(commands.finishLate)
      .emits(late);
    given(...running, completed, late)
      .when(commands.finishLate)
      .emitsNothing();
    given(...running, toolStarted, late)
      .when(commands.finishTool)
      .emits(toolFinished);
  });
});

describe("what is known of an endpoint", () => {
  const { scope } = commands.invalidate.data;

  test("is recorded once: lost responses, what it can do, reasoning that it refused", () => {
    for (const command of [commands.invalidate, commands.learn, commands.quarantine]) {
      const result = decide(stateAfter(begun), command);
      const events = result.ok ? result.value : [];
      expect(events).toHaveLength(1);
      given(begun, ...events)
        .when(command)
        .emitsNothing();
    }
  });

  test("is recorded again when it is something else", () => {
    const learned = eventOf("CapabilityLearned");
    given(begun, learned)
      .when({ type: "LearnCapability", data: { ...learned.data, value: true } })
      .emits({ ...learned, data: { ...learned.data, value: true } });
    const invalidated = eventOf("AnchorInvalidated");
    const other = { ...invalidated.data, responseId: "resp_9" };
    given(begun, invalidated)
      .when({ type: "InvalidateAnchor", data: other })
      .emits({ ...invalidated, data: other });
    const refused = eventOf("ReasoningQuarantined");
    const more = { ...refused.data, blockIds: [...refused.data.blockIds, "blk_0000000000000009"] };
    given(begun, refused)
      .when({ type: "QuarantineReasoning", data: more })
      .emits({ ...refused, data: more });
  });

  test("is news again when the endpoint was asked since all that it held was lost", () => {
    const all = eventOf("AnchorInvalidated", { responseId: null, scope });
    const command = { type: "InvalidateAnchor", data: all.data } as const;
    given(...running, all)
      .when(command)
      .emitsNothing();
    given(...running, all, requested)
      .when(command)
      .emits(all);
  });
});

// What permits an effect is refused the second time; a run's end permits what comes after it. An edit is told apart by its
// frame, which the envelope has: repeating an append is the prepared append's affair.
const permits = new Set<Command["type"]>(["StartRun", "RequestInference", "StartTool", "EndRun"]);
const facts = Object.values(commands).filter(({ type }) => !permits.has(type) && type !== "EditTurn");

test("after its own events a command that states a fact does nothing, and one that permits an effect is refused", () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...Object.values(commands)), { maxLength: 30 }), (script) => {
      const state = initialState();
      for (const command of script) {
        const result = decide(state, command);
        if (!result.ok) continue;
        for (const event of result.value) evolve(state, event, runId);
        const again = decide(state, command);
        if (permits.has(command.type)) expect(again.ok).toBe(false);
        else if (facts.includes(command)) expect(again).toEqual({ ok: true, value: [] });
      }
    }),
    { numRuns: 300 },
  );
});

describe("a draft of a state", () => {
  test("answers as the state would, and leaves it as it was", () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom(...Object.values(commands)), { maxLength: 12 }),
        fc.array(fc.constantFrom(...Object.values(commands)), { maxLength: 12 }),
        (before, tried) => {
          const state = initialState();
          play(state, before);
          const same = initialState();
          play(same, before);
          expect(play(draftState(state), tried)).toEqual(play(same, tried));
          const untouched = initialState();
          play(untouched, before);
          expect(state).toEqual(untouched);
        },
      ),
      { numRuns: 300 },
    );
  });
});

/** Decides the commands one after another on a state, which takes what they make happen. */
function play(state: ReturnType<typeof initialState>, script: readonly Command[]): readonly unknown[] {
  return script.map((command) => {
    const result = decide(state, command);
    if (result.ok) for (const event of result.value) evolve(state, event, runId);
    return result;
  });
}
