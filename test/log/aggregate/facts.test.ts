import { expect, test } from "vitest";
import { anchorName } from "../../../src/domain/anchor.ts";
import { AppendDraft, noConversationFacts } from "../../../src/domain/decider/draft.ts";
import { type ConversationFacts, effectIn } from "../../../src/domain/decider/facts.ts";
import { namedByEvents, namesIn } from "../../../src/domain/decider/names.ts";
import type { RecordedEvent } from "../../../src/domain/events/recorded.ts";
import { ConversationFold } from "../../../src/log/aggregate/conversation-fold.ts";
import { readHistory } from "../../../src/log/history/lineage.ts";
import { cases, firstSeed } from "../../support/cases.ts";
import { randomConversation } from "../../support/random-conversation.ts";

/** All that `decide` may ask of what the events so far name. */
function answersOf(facts: ConversationFacts, seen: readonly RecordedEvent[]): unknown {
  const { origin, title, labels, run } = facts;
  const events = seen.map(({ event }) => event);
  const inferences = events.flatMap(({ data }) => ("inferenceId" in data ? [data.inferenceId] : []));
  const effects = events.flatMap((event) => effectIn(event)?.id ?? []);
  const places = events.flatMap((event) => (event.type === "CapabilityLearned" ? [event.data] : []));
  const lost = events.flatMap(({ data }) => ("scope" in data ? [{ anchor: null, ...data }] : []));
  const names = seen.flatMap(({ event, runId }) => namesIn(event, runId).map(([, name]) => name));
  return {
    ...{ origin, title, labels },
    run: run && {
      ...{ id: run.id, epoch: run.epoch, isCancelRequested: run.isCancelRequested },
      inferences: inferences.map((id) => run.inference(id)),
      effects: effects.map((id) => run.effect(id)),
    },
    named: namedByEvents.map((kind) => names.map((name) => facts.hasName(kind, name))),
    declared: events.map((event) => event.type === "SettingsDeclared" && facts.isDeclared(event.data.digest)),
    lost: lost.map((what) => [anchorName(what), facts.isLost(what)]),
    learned: places.map((place) => facts.learned(place)),
    quarantined: events.flatMap((event) =>
      event.type === "ReasoningQuarantined" ? event.data.blockIds.map((id) => facts.isQuarantined(id)) : [],
    ),
  };
}

test("the fold of a conversation tells decide what its events tell, after each of them", async () => {
  const types = new Set<string>();
  for (let seed = firstSeed; seed < firstSeed + cases(6, 500, 20); seed += 1) {
    const { conversation, store } = await randomConversation(seed);
    const fork = await conversation.fork(Math.floor((await conversation.at(-1)).revision / 2));
    await fork.append("And on we go.");
    const stream = `conversation-${fork.id}`;
    const [fold, draft] = [new ConversationFold(stream), new AppendDraft(noConversationFacts)];
    const seen: RecordedEvent[] = [];
    for await (const recorded of readHistory({ store: store.events }, stream, {})) {
      fold.apply(recorded);
      draft.take(recorded.event, recorded.runId);
      types.add(recorded.event.type);
      seen.push(recorded);
      expect(answersOf(fold.facts, seen), `seed ${seed}, event ${seen.length - 1}`).toEqual(answersOf(draft, seen));
    }
  }
  expect([...types]).toEqual(
    expect.arrayContaining(["RunStarted", "ToolFinished", "TurnEdited", "InferenceRequested"]),
  );
});
