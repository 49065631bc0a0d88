import { expect, test } from "vitest";
import { user } from "../../../src/domain/make-block.ts";
import type { Turn } from "../../../src/domain/turn.ts";
import { defineMiddleware } from "../../../src/engine/ports/middleware.ts";
import { foldWhole } from "../../../src/log/aggregate/fold.ts";
import { createWorkshop, dataOf, eventsOf } from "../../support/workshop.ts";

const long = "a long message ".repeat(140);

test.each<[string, (turn: Turn) => Turn]>([
  ["rewrites", (turn) => turn.map((block) => block.withText(block.text.toUpperCase()))],
  ["inserts", (turn) => turn.insert(1, ...Array.from({ length: 300 }, (_, n) => user(`${n} ${long}`)))],
  [
    "turns round and shortens",
    (turn) =>
      turn.with(
        turn.blocks
          .slice(0, 200)
          .reverse()
          .map((block) => block.withText(long)),
      ),
  ],
])("a pass that %s more than one event holds is written as several, and folds to the same", async (_, change) => {
  const { conversation, store, scripted } = createWorkshop();
  await conversation.append(Array.from({ length: 300 }, (__, n) => user(`${n} ${long}`)));
  const given = await conversation.turn();
  const layer = defineMiddleware({ name: "thorough", version: "1.0.0" }, (next) => (turn) => next(change(turn)));
  const turn = await (await conversation.run(scripted(["Done."], { middleware: [layer] }).engine)).turn();
  const passes = dataOf(await eventsOf(conversation), "TurnEdited");
  expect(passes.length).toBeGreaterThan(1);
  expect(new Set(passes.slice(1).map(({ from }) => from))).toEqual(new Set(["given/0.0"]));
  const told = (each: Turn): readonly string[] => each.blocks.map(({ text }) => text);
  expect(told(turn)).toEqual([...told(change(given)), "Done."]);
  const head = await store.events.head("conversation-cnv_workshop");
  const folded = await foldWhole(store.log, "conversation-cnv_workshop", head?.revision ?? 0);
  expect(folded.view.client.committed.digest).toBe(turn.digest);
});
