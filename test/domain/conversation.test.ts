import { describe, expect, test } from "vitest";
import { decide } from "../../src/domain/conversation.ts";
import {
  asked,
  bare,
  begun,
  blockId,
  commands,
  completed,
  eventOf,
  failed,
  given,
  inferenceId,
  received,
  requested,
  runId,
  running,
  runStarted,
  stateAfter,
  toolFinished,
  toolStarted,
} from "../support/domain/conversation-builders.ts";

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

describe("where a conversation came from", () => {
  const fork = eventOf("ConversationStarted");

  test("is told once: a fork under the id of another conversation is refused", () => {
    given().when({ type: "StartConversation", data: fork.data }).emits(fork);
    given(fork).when({ type: "StartConversation", data: fork.data }).emitsNothing();
    given(begun).when({ type: "StartConversation", data: fork.data }).isRefused({ code: "conversation-exists" });
    given(fork).when(commands.start).isRefused({ code: "conversation-exists" });
  });

  test("gives a fork all that its parent knows, but no run of it", () => {
    given(...running, eventOf("BlockAppended"), fork)
      .when(commands.append)
      .emitsNothing();
    given(...running, fork)
      .when(commands.edit)
      .isRefused({ code: "run-not-open", runId });
    given(...running, fork)
      .when(commands.startRun)
      .isRefused({ code: "run-repeated", runId });
    given(...running, fork)
      .when({ ...commands.startRun, runId: "run_0000000000000000" })
      .emits(runStarted);
  });
});

describe("a revert", () => {
  const reverted = eventOf("TurnReverted");
  const revert = { type: "RevertTurn", data: reverted.data } as const;

  test("is recorded while no run is open, and refused while one is", () => {
    given(begun).when(revert).emits(reverted);
    given(...running)
      .when(revert)
      .isRefused({ code: "run-open", runId });
    given(...running, completed)
      .when(revert)
      .emits(reverted);
  });

  test("that changes nothing is none", () => {
    given(begun)
      .when({ ...revert, data: { ...reverted.data, edits: [] } })
      .emitsNothing();
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
