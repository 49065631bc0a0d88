import { expect, test } from "vitest";
import type { RecordedEvent } from "../../../src/domain/events/recorded.ts";
import { isAside } from "../../../src/domain/frame.ts";
import { user } from "../../../src/domain/make-block.ts";
import { applyToTurns } from "../../../src/projections/client-turn/apply-to-turns.ts";
import { RunTurns } from "../../../src/projections/client-turn/run-turns.ts";
import {
  applyToConversation,
  type ConversationView,
  conversationView,
} from "../../../src/projections/views/conversation-view.ts";
import { counted, createScene, layer } from "../../support/run/scene.ts";
import { calling } from "../../support/run/tool-runs.ts";
import { eventsOf } from "../../support/workshop.ts";

/** Asks beside the conversation, and leaves one more of the messages out each time that it is called. */
const forgetful = layer("forgetful", async (turn, next, ctx) => {
  await ctx.infer({ input: user("which of them?") });
  const block = turn.blocks.find(({ kind }) => kind === "user");
  return next(block === undefined ? turn : turn.remove(block));
});

async function eventsOfRun(): Promise<readonly RecordedEvent[]> {
  const answers = ["the first", calling(["look-up", "{}"]), "the second", "an answer"];
  const scene = createScene(answers, { tools: [counted("look-up", true).tool], middleware: [forgetful] });
  const { conversation, engine } = scene.process();
  for (const text of ["one", "two", "three"]) await conversation.append(text);
  await conversation.run(engine);
  return eventsOf(conversation);
}

/** The same events, where another process takes the run up before one of them. */
function takenUpAt(events: readonly RecordedEvent[], index: number): readonly RecordedEvent[] {
  const owner = { processId: "prc_other", bootId: "b", host: "h", pid: 1, startedAt: "t", pidNamespace: "n" };
  return events.flatMap((recorded, n) => {
    if (n !== index) return [n < index ? recorded : { ...recorded, revision: recorded.revision + 1 }];
    const resumed: RecordedEvent = {
      ...{ ...recorded, frame: "0", actor: { kind: "recovery" } },
      event: { type: "RunResumed", version: 1, data: { epoch: 1, owner, stack: [] } },
    };
    return [resumed, { ...recorded, revision: recorded.revision + 1 }];
  });
}

/** The Turns of a process that takes the run up: it may have asked beside the conversation before it met all of the log. */
function executed(view: ConversationView, events: readonly RecordedEvent[]): RunTurns {
  const turns = new RunTurns(view.client.committed);
  const isEarly = ({ event, frame }: RecordedEvent): boolean => event.type === "TurnEdited" && isAside(frame);
  for (const recorded of [...events.filter(isEarly), ...events.filter((each) => !isEarly(each))])
    applyToTurns(turns, recorded.event, recorded);
  return turns;
}

/** What a fold says after each event: who removed what, and the Turn that would remain. */
function toldBy(events: readonly RecordedEvent[], isAdopting: boolean) {
  const view = conversationView.initial("conversation-cnv_scene");
  const begun = events.findIndex(({ event }) => event.type === "RunStarted");
  let turns: RunTurns | null = null;
  return events.map((recorded, n) => {
    if (n === begun) turns = executed(view, events.slice(begun));
    const resumed = events.findIndex(({ event }) => event.type === "RunResumed");
    applyToConversation(view, recorded, isAdopting && n >= resumed ? turns : null);
    const { run, committed, blame } = view.client;
    if (isAdopting && run !== null) expect(run.turns === turns).toBe(n >= resumed);
    const removed = [...(run?.removed ?? [])].map(([id, { actor, revision }]) => ({ id, actor, revision }));
    return structuredClone({ removed, committed: committed.digest, blame: [...(blame ?? [])] });
  });
}

test("the fold that adopts the Turns of a process which took the run up says what a fold of the log says, wherever that was", async () => {
  const events = await eventsOfRun();
  const begun = events.findIndex(({ event }) => event.type === "RunStarted");
  expect(toldBy(takenUpAt(events, begun + 1), false).at(-2)?.removed).toHaveLength(2);
  for (let at = begun + 1; at < events.length; at += 1) {
    const taken = takenUpAt(events, at);
    expect(toldBy(taken, true)).toEqual(toldBy(taken, false));
  }
});
