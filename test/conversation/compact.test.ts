import { expect, test } from "vitest";
import { replayFolds } from "../../src/replay/fold-replay.ts";
import { calling } from "../support/run/tool-runs.ts";
import { createWorkshop, dataOf, eventsOf, rejectionOf } from "../support/workshop.ts";

/** A conversation of so many exchanges, answered with their numbers. */
async function spoken(exchanges: number) {
  const workshop = createWorkshop();
  const { conversation } = workshop;
  const answers = Array.from({ length: exchanges + 2 }, (_, n) => `answer ${n}`);
  const { engine, provider } = workshop.scripted(answers);
  for (let n = 0; n < exchanges; n += 1) {
    await conversation.append(`question ${n}`);
    await conversation.run(engine);
  }
  return { ...workshop, engine, provider };
}

test("the oldest exchanges are left out between two runs by an event of the engine's, and stay readable where they were", async () => {
  const { conversation, engine, provider } = await spoken(3);
  const { revision } = await conversation.at(-1);
  const turn = await conversation.compact({ how: "drop-exchanges", keep: 1 });
  expect(turn.blocks.map(({ text }) => text)).toEqual(["question 2", "answer 2"]);
  const event = (await eventsOf(conversation)).at(-1);
  expect(event).toMatchObject({ actor: { kind: "engine" }, runId: null, event: { type: "TurnCompacted" } });
  const before = await (await conversation.at(revision)).content();
  expect(before.blocks[0]?.text).toBe("question 0");
  await conversation.append("question 3");
  await conversation.run(engine);
  expect(JSON.stringify(provider.requests.at(-1))).not.toContain("question 1");
  const { difference } = await replayFolds(conversation);
  expect(difference).toBeNull();
  expect((await conversation.verify()).problems).toEqual([]);
});

test("answered messages stay answered: no model is asked, also in another process and after a second compaction", async () => {
  const { conversation, engine, provider, store } = await spoken(3);
  await conversation.compact({ how: "drop-exchanges", keep: 2 });
  await conversation.compact({ how: "drop-exchanges", keep: 1 });
  expect(await conversation.run(engine)).toMatchObject({ isNew: false, text: "answer 2" });
  expect(await store.conversation(conversation.id).run(engine)).toMatchObject({ isNew: false, text: "answer 2" });
  expect(provider.requests).toHaveLength(3);
});

test("what waits for an answer still waits for it", async () => {
  const { conversation, engine } = await spoken(2);
  await conversation.append("question 2");
  await conversation.compact({ how: "drop-exchanges", keep: 1 });
  expect(await conversation.run(engine)).toMatchObject({ isNew: true, text: "answer 2" });
});

test("a revert to before brings everything back, and to after leaves it out again", async () => {
  const { conversation, engine } = await spoken(3);
  const long = (await conversation.at(-1)).revision;
  await conversation.compact({ how: "drop-exchanges", keep: 1 });
  const short = (await conversation.at(-1)).revision;
  expect((await conversation.revertTo(long)).length).toBe(6);
  expect((await conversation.revertTo(short)).length).toBe(2);
  expect(await conversation.run(engine)).toMatchObject({ isNew: false, text: "answer 2" });
});

test("results of tools are cut, and calls keep them", async () => {
  const workshop = createWorkshop();
  const { conversation } = workshop;
  const { engine } = workshop.scripted([calling(["elsewhere", "{}"])]);
  await conversation.append("hello");
  await conversation.run(engine);
  await conversation.append({ role: "tool", tool_call_id: "c0", content: "long ".repeat(1_000) });
  const turn = await conversation.compact();
  expect(turn.blocks.map(({ kind }) => kind)).toEqual(["user", "tool_call", "tool_result"]);
  expect(turn.last?.text.length).toBeLessThanOrEqual(2_000);
  expect(turn.last?.callId).toBe("c0");
});

test("where there is nothing to make shorter nothing is written", async () => {
  const { conversation } = await spoken(1);
  const before = (await eventsOf(conversation)).length;
  await conversation.compact();
  await conversation.compact({ how: "drop-exchanges" });
  expect(await eventsOf(conversation)).toHaveLength(before);
  expect(dataOf(await eventsOf(conversation), "TurnCompacted")).toEqual([]);
});

test.each<readonly [object, string]>([
  [{ how: "summarise" }, "compact: how is 'summarise'"],
  [{ keep: 0 }, "compact: keep is 0"],
  [{ maxResultLength: 9 }, "compact: maxResultLength is 9"],
  [{ keeps: 1 }, "compact has no option 'keeps'"],
])("%o is refused", async (options, message) => {
  const { conversation } = await spoken(1);
  expect(String(await rejectionOf(conversation.compact(options)))).toContain(message);
});
