import { expect, test } from "vitest";
import { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import { user } from "../../../src/domain/make-block.ts";
import { defineMiddleware } from "../../../src/engine/ports/middleware.ts";
import { foldWhole } from "../../../src/log/aggregate/fold.ts";
import { createMemoryStore } from "../../../src/stores/memory/store.ts";
import { createWorkshop, eventsOf, typesOf } from "../../support/workshop.ts";

const long = "a long message ".repeat(140);
const more = Array.from({ length: 500 }, (_, n) => user(`${n} ${long}`));
const thorough = defineMiddleware(
  { name: "thorough", version: "1.0.0" },
  (next) => (turn) => next(turn.append(...more)),
);

/** Two writers of one store: the other one says something before the first appends of this one's run but its very first. */
function talkedOver(interruptions: number) {
  const events = createMemoryStore();
  const other = new TurnlogStore(events).conversation("cnv_workshop");
  const said: string[] = [];
  const workshop = createWorkshop({
    events,
    around: async ({ envelopes }, append) => {
      const isLaterPart =
        envelopes.some(({ runId }) => runId !== undefined) && envelopes[0]?.type !== "SettingsDeclared";
      if (isLaterPart && said.length < interruptions) {
        said.push(`and this (${said.length})`);
        await other.append(said.slice(-1).join());
      }
      return append();
    },
  });
  return { ...workshop, other, said };
}

test.each([1, 2, 4])(
  "a beginning of a run that is too big for one append goes on although others write into it (%i)",
  async (times) => {
    const { conversation, watched, other, said, scripted, store } = talkedOver(times);
    await conversation.append("hello");
    const { status, turn: readTurn } = await conversation.run(scripted(["Done."], { middleware: [thorough] }).engine);
    const turn = await readTurn();
    expect({ status, said: said.length }).toEqual({ status: "completed", said: times });
    const parts = watched.written.slice(1).filter((types) => types.some((type) => type !== "BlockAppended"));
    const isSplit = parts.filter((types) => types.includes("RunStarted") || types.includes("InferenceRequested"));
    expect(isSplit).toHaveLength(2);
    const events = await eventsOf(conversation);
    expect(typesOf(events).filter((type) => type === "RunStarted" || type === "InferenceRequested")).toHaveLength(2);
    const told = turn.blocks.map(({ text }) => text);
    expect(told).toEqual(["hello", ...more.map(({ text }) => text), "Done.", ...said]);
    expect((await other.turn()).digest).toBe(turn.digest);
    const head = await store.events.head("conversation-cnv_workshop");
    const folded = await foldWhole(store.log, "conversation-cnv_workshop", head?.revision ?? 0);
    expect(folded.view.client.committed.digest).toBe(turn.digest);
  },
);

test("blocks that are too big for one append are all appended, each once, when others write into it", async () => {
  const events = createMemoryStore();
  const other = new TurnlogStore(events).conversation("cnv_workshop");
  let parts = 0;
  const { conversation } = createWorkshop({
    events,
    around: async (_, append) => {
      parts += 1;
      if (parts === 2) await other.append("and this");
      return append();
    },
  });
  const { blocks } = await conversation.append(more);
  expect(parts).toBeGreaterThan(2);
  const { blocks: appended } = await conversation.turn();
  expect(appended.map(({ id }) => id).filter((id) => blocks.some((block) => block.id === id))).toEqual(
    blocks.map(({ id }) => id),
  );
  expect(appended).toHaveLength(more.length + 1);
  expect((await other.turn()).length).toBe(more.length + 1);
});
