import { describe, expect, test } from "vitest";
import { decide } from "../../../src/domain/decider/decide.ts";
import { settingsNameSchema } from "../../../src/domain/ids.ts";
import {
  asked,
  bare,
  begun,
  blockId,
  completed,
  eventOf,
  factsAfter,
  failed,
  given,
  inferenceId,
  proposals,
  received,
  requested,
  runId,
  running,
  runStarted,
  toolFinished,
  toolStarted,
} from "../../support/domain/conversation-builders.ts";

describe("a conversation", () => {
  test("starts once, so that starting it again is harmless", () => {
    given().when(proposals.start).emits(begun);
    given(begun).when(proposals.start).emitsNothing();
  });

  test("starts by itself before the first block, label, settings or run", () => {
    given().when(proposals.append).emits(bare, eventOf("BlockAppended"));
    given().when(proposals.relabel).emits(bare, proposals.relabel);
    given().when(proposals.declare).emits(bare, eventOf("SettingsDeclared"));
    given().when(proposals.startRun).emits(bare, runStarted);
  });

  test("takes a block once, by its id, whether a run is open or not", () => {
    given(begun).when(proposals.append).emits(eventOf("BlockAppended"));
    given(begun, eventOf("BlockAppended")).when(proposals.append).emitsNothing();
    given(...running, eventOf("BlockAppended"))
      .when(proposals.append)
      .emitsNothing();
  });

  test("declares settings once per digest", () => {
    given(begun, eventOf("SettingsDeclared")).when(proposals.declare).emitsNothing();
    const digest = settingsNameSchema.parse("9".repeat(64));
    given(begun, eventOf("SettingsDeclared"))
      .when({ type: "SettingsDeclared", version: 2, data: { digest, settings: {} } })
      .emits(eventOf("SettingsDeclared", { digest, settings: {} }));
  });

  test("is relabelled when that changes its title or a label", () => {
    const relabelled = eventOf("ConversationRelabelled", proposals.relabel.data);
    given(begun, relabelled).when(proposals.relabel).emitsNothing();
    given(begun, relabelled)
      .when({ type: "ConversationRelabelled", version: 1, data: { labels: { team: "travel" } } })
      .emitsNothing();
    const back = { title: "Weather" };
    given(begun, relabelled)
      .when({ type: "ConversationRelabelled", version: 1, data: back })
      .emits({ type: "ConversationRelabelled", version: 1, data: back });
  });
});

describe("where a conversation came from", () => {
  const fork = eventOf("ConversationStarted");

  test("is told once: a fork under the id of another conversation is refused", () => {
    given().when(fork).emits(fork);
    given(fork).when(fork).emitsNothing();
    given(begun).when(fork).isRefused({ code: "conversation-exists" });
    given(fork).when(proposals.start).isRefused({ code: "conversation-exists" });
  });

  test("gives a fork all that its parent knows, but no run of it", () => {
    given(...running, eventOf("BlockAppended"), fork)
      .when(proposals.append)
      .emitsNothing();
    given(...running, fork)
      .when(proposals.edit)
      .isRefused({ code: "run-not-open", runId });
    given(...running, fork)
      .when(proposals.startRun)
      .isRefused({ code: "run-repeated", runId });
    given(...running, fork)
      .when(proposals.startRun, "run_0000000000000000")
      .emits(runStarted);
  });
});

test("a compaction is recorded while no run is open, and refused while one is; one that changes nothing is none", () => {
  const compacted = eventOf("TurnCompacted");
  given(begun).when(compacted).emits(compacted);
  given(...running)
    .when(compacted)
    .isRefused({ code: "run-open", runId });
  given(begun)
    .when({ ...compacted, data: { ...compacted.data, edits: [] } })
    .emitsNothing();
});

describe("a revert", () => {
  const reverted = eventOf("TurnReverted");

  test("is recorded while no run is open, and refused while one is", () => {
    given(begun).when(reverted).emits(reverted);
    given(...running)
      .when(reverted)
      .isRefused({ code: "run-open", runId });
    given(...running, completed)
      .when(reverted)
      .emits(reverted);
  });

  test("that changes nothing is none", () => {
    given(begun)
      .when({ ...reverted, data: { ...reverted.data, edits: [] } })
      .emitsNothing();
  });
});

describe("a run", () => {
  test("is refused while one is open, the same one included: two callers must not both go", () => {
    given(begun).when(proposals.startRun).emits(runStarted);
    given(...running)
      .when(proposals.startRun)
      .isRefused({ code: "run-open", runId });
    given(...running)
      .when(proposals.startRun, "run_0000000000000000")
      .isRefused({ code: "run-open", runId });
  });

  test("is rejected when it has ended, because its ids would occur twice", () => {
    given(...running, completed)
      .when(proposals.startRun)
      .isRefused({ code: "run-repeated", runId });
    given(...running, completed)
      .when(proposals.startRun, "run_0000000000000000")
      .emits(runStarted);
  });

  test("does nothing any more once it has ended, or is another one", () => {
    const { edit, request, receive, fail, startTool, finishTool, endRun } = proposals;
    for (const event of [edit, request, receive, fail, startTool, finishTool, endRun]) {
      given(...asked, completed)
        .when(event)
        .isRefused({ code: "run-not-open", runId });
      given(begun).when(event).isRefused({ code: "run-not-open", runId });
      const other = "run_0000000000000000";
      given(...asked)
        .when(event, other)
        .isRefused({ code: "run-not-open", runId: other });
    }
  });

  test("is taken up once from each state of it: who knows an older one is told", () => {
    const resumed = (epoch: number) => eventOf("RunResumed", { ...eventOf("RunResumed").data, epoch });
    const { epoch } = runStarted.data;
    given(...running)
      .when(resumed(epoch + 1))
      .emits(resumed(epoch + 1));
    given(...running, resumed(epoch + 1))
      .when(resumed(epoch + 1))
      .isRefused({ code: "run-taken-over", runId });
  });

  test("ends in one of three ways", () => {
    for (const event of [completed, eventOf("RunFailed"), eventOf("RunCancelled")]) {
      given(...running)
        .when(event)
        .emits(event);
      given(...running, event)
        .when(proposals.startRun, "run_0000000000000000")
        .emits(runStarted);
    }
  });

  test("records every edit of its Turns", () => {
    given(...running)
      .when(proposals.edit)
      .emits(eventOf("TurnEdited"));
  });
});

describe("an inference", () => {
  test("is requested once", () => {
    given(...running)
      .when(proposals.request)
      .emits(requested);
    given(...asked)
      .when(proposals.request)
      .isRefused({ code: "inference-repeated", inferenceId });
    given(...asked, received)
      .when(proposals.request)
      .isRefused({ code: "inference-repeated", inferenceId });
  });

  test("is answered once, by a response or a failure", () => {
    given(...asked)
      .when(proposals.receive)
      .emits(received);
    given(...asked)
      .when(proposals.fail)
      .emits(failed);
    for (const answer of [received, failed]) {
      given(...asked, answer)
        .when(proposals.receive)
        .emitsNothing();
      given(...asked, answer)
        .when(proposals.fail)
        .emitsNothing();
    }
  });

  test("that was never requested cannot be answered", () => {
    given(...running)
      .when(proposals.receive)
      .isRefused({ code: "inference-not-open", inferenceId });
    given(...running)
      .when(proposals.fail)
      .isRefused({ code: "inference-not-open", inferenceId });
  });
});

describe("a tool", () => {
  test("is started once by its call's block: a second caller must not run it too", () => {
    given(...running)
      .when(proposals.startTool)
      .emits(toolStarted);
    given(...running, toolStarted)
      .when(proposals.startTool)
      .isRefused({ code: "tool-repeated", blockId });
    given(...running, toolFinished)
      .when(proposals.startTool)
      .isRefused({ code: "tool-repeated", blockId });
  });

  test("finishes once, also when it never started: recovery answers such calls", () => {
    given(...running, toolStarted)
      .when(proposals.finishTool)
      .emits(toolFinished);
    given(...running)
      .when(proposals.finishTool)
      .emits(toolFinished);
    given(...running, toolFinished)
      .when(proposals.finishTool)
      .emitsNothing();
  });

  test("that came back late is recorded once, and its call is still to be answered", () => {
    const late = eventOf("ToolFinished");
    given(...running, completed)
      .when(proposals.finishLate)
      .emits(late);
    given(...running, completed, late)
      .when(proposals.finishLate)
      .emitsNothing();
    given(...running, toolStarted, late)
      .when(proposals.finishTool)
      .emits(toolFinished);
  });
});

describe("what is known of an endpoint", () => {
  const { scope } = proposals.invalidate.data;

  test("is recorded once: lost responses, what it can do, reasoning that it refused", () => {
    for (const event of [proposals.invalidate, proposals.learn, proposals.quarantine]) {
      const result = decide(factsAfter(begun), event, runId);
      const events = result.ok ? result.value : [];
      expect(events).toHaveLength(1);
      given(begun, ...events)
        .when(event)
        .emitsNothing();
    }
  });

  test("is recorded again when it is something else", () => {
    const learned = eventOf("CapabilityLearned");
    given(begun, learned)
      .when({ type: "CapabilityLearned", version: 1, data: { ...learned.data, value: true } })
      .emits({ ...learned, data: { ...learned.data, value: true } });
    const invalidated = eventOf("AnchorInvalidated");
    const other = { ...invalidated.data, anchor: { kind: "response", id: "resp_9" } };
    given(begun, invalidated)
      .when({ type: "AnchorInvalidated", version: 1, data: other })
      .emits({ ...invalidated, data: other });
    const refused = eventOf("ReasoningQuarantined");
    const more = { ...refused.data, blockIds: [...refused.data.blockIds, "blk_0000000000000009"] };
    given(begun, refused)
      .when({ type: "ReasoningQuarantined", version: 1, data: more })
      .emits({ ...refused, data: more });
  });

  test("is news again when the endpoint was asked since all that it held was lost", () => {
    const all = eventOf("AnchorInvalidated", { anchor: null, scope });
    given(...running, all)
      .when(all)
      .emitsNothing();
    given(...running, all, requested)
      .when(all)
      .emits(all);
  });
});
