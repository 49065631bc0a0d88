import { expect, test } from "vitest";
import { noteLabels } from "../../../src/analysis/descriptions/labels.ts";
import { LoadedPast } from "../../../src/analysis/time-travel/past.ts";
import { applyToFolds, copiedFolds, type DocumentFolds, emptyFolds } from "../../../src/apps/studio/document-folds.ts";
import type { RecordedEvent } from "../../../src/domain/events/recorded.ts";
import { conversationIdSchema, conversationStream } from "../../../src/domain/ids.ts";
import { defineMiddleware } from "../../../src/engine/ports/middleware.ts";
import { namesOf } from "../../../src/log/codec/stream-names.ts";
import type { EventStore } from "../../../src/log/ports/event-store.ts";
import { scripted } from "../../../src/providers/scripted/scripted.ts";
import { seeds } from "../../support/cases.ts";
import { randomConversation } from "../../support/random-conversation.ts";
import { viewDigest } from "../../support/view-digest.ts";
import { createWorkshop, type Workshop } from "../../support/workshop.ts";

const take = (folds: DocumentFolds, recorded: RecordedEvent): void => {
  applyToFolds(folds, recorded);
  noteLabels(folds.words, recorded);
};

test("a copy of folds and its original go on without changing each other, from any event on", async () => {
  for (const seed of seeds(2, 24, 6)) await copyAtEachEvent(await randomConversation(seed), `seed ${seed}`);
});

test("the same with messages that come in the middle of a run", async () => {
  const workshop = createWorkshop();
  const { conversation } = workshop;
  const appends = defineMiddleware({ name: "appends", version: "1.0.0" }, (next) => async (turn) => {
    const answer = await next(turn);
    await conversation.append("And another thing");
    await conversation.append("One more");
    return answer;
  });
  await conversation.append("Hello");
  await conversation.run(workshop.engine({ provider: scripted(["Hello.", "Yes?"]), middleware: [appends] }));
  const copied = await copyAtEachEvent(workshop, "messages in a run");
  expect(copied.some(({ view }) => view.client.run?.pending.length === 2)).toBe(true);
});

async function copyAtEachEvent({ store, conversation }: Workshop, name: string): Promise<readonly DocumentFolds[]> {
  const events: RecordedEvent[] = [];
  for await (const recorded of conversation.history()) events.push(recorded);
  const original = emptyFolds(conversationStream(conversation.id));
  const copies: DocumentFolds[] = [];
  const states: unknown[] = [];
  for (const recorded of events) {
    take(original, recorded);
    copies.push(copiedFolds(original));
    states.push(await stateOf(original, store.events));
  }
  for (const [revision, copy] of copies.entries()) {
    const place = `${name}, revision ${revision}`;
    const next = copiedFolds(copy);
    // Each copy goes a little way, and one of a few goes to the end.
    const way = revision % 7 === 0 ? events.length : revision + 4;
    for (const recorded of events.slice(revision + 1, way)) take(next, recorded);
    const reached = Math.min(events.length, Math.max(way, revision + 1)) - 1;
    expect(await stateOf(next, store.events), `${place}, gone on to ${reached}`).toEqual(states[reached]);
    expect(await stateOf(copy, store.events), place).toEqual(states[revision]);
  }
  return copies;
}

/** Everything that documents are made from, so that a list or a map that two folds share shows. */
async function stateOf(folds: DocumentFolds, events: EventStore): Promise<unknown> {
  const { view, words, show, contextTurns, trail, last } = folds;
  if (last === null) return null;
  const past = new LoadedPast(last, view, await namesOf(events, last.stream));
  const place = { conversation: { id: conversationIdSchema.parse("cnv_shown") }, past, words, changed: [] };
  const { client, spent } = view;
  return {
    view: viewDigest(view),
    shown: JSON.stringify(show.documentOf(place, null)),
    blame: JSON.stringify([...(client.blame ?? [])]),
    answers: JSON.stringify(client.answers),
    run:
      client.run &&
      JSON.stringify([client.run.epoch, client.run.owner, [...client.run.removed], [...client.run.effects]]),
    removals: client.run && JSON.stringify([...client.run.turns.removals]),
    words: JSON.stringify([words.openRun, [...words.labels]]),
    settings: JSON.stringify([[...view.server.declared], [...view.server.settings.keys()], view.server.base?.digest]),
    spent: JSON.stringify(spent),
    contexts: JSON.stringify([...contextTurns].map(([inference, turn]) => [inference, turn.digest])),
    prompts: JSON.stringify(
      [...trail.prompts].map(([inference, { input, before, passes }]) => [
        ...[inference, input.digest, before?.request.inferenceId ?? null],
        ...[...(passes?.removals ?? [])],
      ]),
    ),
    outcomes: JSON.stringify([...trail.outcomes]),
  };
}
