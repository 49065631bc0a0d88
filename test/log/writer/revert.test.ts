import { expect, test } from "vitest";
import type { Conversation } from "../../../src/conversation/conversation.ts";
import { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import { assistant } from "../../../src/domain/make-block.ts";
import { defineMiddleware } from "../../../src/engine/ports/middleware.ts";
import { verifyStore } from "../../../src/operations/audit/verify.ts";
import { codecs } from "../../../src/providers/codecs.ts";
import { scripted } from "../../../src/providers/scripted/scripted.ts";
import { createMemoryStore } from "../../../src/stores/memory/store.ts";
import { seeds } from "../../support/cases.ts";
import { createRandom } from "../../support/coherence/random.ts";
import { randomConversation } from "../../support/random-conversation.ts";
import { createWorkshop, dataOf, eventsOf, rejectionOf, typesOf, type Workshop } from "../../support/workshop.ts";

const textsOf = async (conversation: Conversation): Promise<readonly string[]> =>
  (await conversation.turn()).blocks.map(({ text }) => text);

/** Three exchanges. */
async function talk({ conversation, scripted: script }: Workshop) {
  const { engine, provider } = script(["1", "2", "3", "4"]);
  const revisions: number[] = [];
  for (const said of ["one", "two", "three"]) {
    await conversation.append(said);
    await conversation.run(engine);
    revisions.push((await conversation.at(-1)).revision);
  }
  return { conversation, engine, provider, revisions };
}

test("reverting to an exchange makes it the last one; what came since stays in the log", async () => {
  const { conversation } = await talk(createWorkshop());
  const before = await eventsOf(conversation);
  await conversation.revertToExchange(1);
  expect(await textsOf(conversation)).toEqual(["one", "1", "two", "2"]);
  const events = await eventsOf(conversation);
  expect(events.slice(0, before.length)).toEqual(before);
  expect(typesOf(events.slice(before.length))).toEqual(["TurnReverted"]);
  await conversation.revertToExchange(-2);
  expect(await textsOf(conversation)).toEqual(["one", "1"]);
});

test("the next request continues from the context that held the Turn then", async () => {
  const { conversation, engine } = await talk(createWorkshop());
  await conversation.revertToExchange(0);
  await conversation.append("another two");
  const { steps } = await conversation.run(engine);
  const [first] = dataOf(await eventsOf(conversation), "ResponseReceived");
  expect(steps.map(({ decision }) => decision)).toMatchObject([
    { strategy: "rebased", anchor: { id: first?.responseId } },
  ]);
});

test("who reverted is who removed the blocks, and reverting forwards gives them back to their authors", async () => {
  const { conversation, revisions } = await talk(createWorkshop());
  const last = (await conversation.turn()).at(-1)?.id ?? "";
  await conversation.revertToExchange(0, { actor: { kind: "operator", name: "ann" } });
  const removed = await (await conversation.at(-1)).blame(last);
  expect(removed?.removed).toMatchObject({ actor: { kind: "operator", name: "ann" } });
  await conversation.revertTo(revisions[2] ?? -1);
  expect(await textsOf(conversation)).toEqual(["one", "1", "two", "2", "three", "3"]);
  const back = await (await conversation.at(-1)).blame(last);
  expect(back?.removed).toBeNull();
  expect(back?.versions.map(({ change }) => change.actor.kind)).toEqual(["provider"]);
});

test("reverting to what is there already writes nothing", async () => {
  const { conversation } = await talk(createWorkshop());
  const before = await eventsOf(conversation);
  await conversation.revertToExchange(2);
  await conversation.revertTo(-1);
  expect(await eventsOf(conversation)).toEqual(before);
});

test("an exchange or a revision that is not there is refused, and nothing is written", async () => {
  const { conversation } = await talk(createWorkshop());
  const before = await eventsOf(conversation);
  expect(await rejectionOf(conversation.revertToExchange(3))).toMatchObject({
    code: "exchange-not-found",
    message: "there is no exchange 3 in the Turn: it has the exchanges 0 to 2",
  });
  expect(await rejectionOf(conversation.revertTo(1_000))).toMatchObject({ code: "revision-not-found" });
  expect(await eventsOf(conversation)).toEqual(before);
});

test("while a run is open nothing is reverted", async () => {
  const workshop = createWorkshop();
  const { conversation } = workshop;
  const refusals: unknown[] = [];
  const layer = defineMiddleware({ name: "reverts", version: "1.0.0" }, (next) => async (turn) => {
    const answer = await next(turn);
    refusals.push(await rejectionOf(conversation.revertTo(0)), await rejectionOf(conversation.revertToExchange(0)));
    return answer;
  });
  await conversation.append("one");
  await conversation.run(workshop.scripted(["1"], { middleware: [layer] }).engine);
  expect(refusals).toMatchObject([{ code: "run-in-progress" }, { code: "run-in-progress" }]);
  expect(await textsOf(conversation)).toEqual(["one", "1"]);
});

test("what somebody appended in between is taken back with the rest, and the log still folds", async () => {
  const events = createMemoryStore();
  const other = new TurnlogStore(events).conversation("cnv_workshop");
  let isFirst = true;
  const { conversation } = createWorkshop({
    events,
    async around(prepared, append) {
      if (isFirst && prepared.envelopes.some(({ type }) => type === "TurnReverted")) {
        isFirst = false;
        await other.append("in between");
      }
      return append();
    },
  });
  for (const text of ["one", "two"]) await conversation.append(text);
  await conversation.revertToExchange(0);
  expect(isFirst).toBe(false);
  expect(await textsOf(conversation)).toEqual(["one"]);
  expect((await other.turn()).digest).toBe((await conversation.turn()).digest);
});

test("a revert of thousands of blocks is one append of several events, and folds", async () => {
  const workshop = createWorkshop();
  const { conversation } = workshop;
  for (const said of ["the first", "the second"]) await conversation.append(said);
  for (let batch = 0; batch < 40; batch += 1) {
    await conversation.append(Array.from({ length: 100 }, (_, n) => assistant(`${batch} ${n}`)));
  }
  const all = (await conversation.turn()).digest;
  const last = (await conversation.at(-1)).revision;
  const written = workshop.watched.written.length;
  await conversation.revertToExchange(0);
  const appends = workshop.watched.written.slice(written);
  expect(appends).toHaveLength(1);
  expect(new Set(appends[0])).toEqual(new Set(["TurnReverted"]));
  expect(appends[0]?.length).toBeGreaterThan(1);
  expect(await textsOf(conversation)).toEqual(["the first"]);
  await conversation.revertTo(last);
  expect((await conversation.turn()).digest).toBe(all);
  expect((await createWorkshop({ events: workshop.store.events }).conversation.turn()).digest).toBe(all);
});

test("any revision of a random conversation can be reverted to, and the log stays sound", async () => {
  for (const seed of seeds(2, 150, 5)) {
    const random = createRandom(seed);
    const workshop = await randomConversation(seed);
    const { conversation, store } = workshop;
    const head = (await conversation.at(-1)).revision;
    for (let times = 12; times > 0; times -= 1) {
      const revision = random.below(head + 1);
      const then = (await conversation.at(revision)).turn.digest;
      expect((await conversation.revertTo(revision)).digest, `seed ${seed}, revision ${revision}`).toBe(then);
      expect((await conversation.at(-1)).turn.digest, `seed ${seed}, revision ${revision}`).toBe(then);
      if (random.chance(0.7)) continue;
      await conversation.append("and then?");
      await conversation
        .run(workshop.engine({ provider: scripted(["so it went"], { prefix: `${seed}_0_` }) }))
        .catch(() => null);
    }
    for await (const { problem } of verifyStore(store.events, { codecs })) expect(problem, `seed ${seed}`).toBeNull();
  }
});
