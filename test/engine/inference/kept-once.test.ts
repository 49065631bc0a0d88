import { expect, test } from "vitest";
import { message } from "../../../packages/reference-server/src/answers.ts";
import type { Conversation } from "../../../src/conversation/conversation.ts";
import { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import type { InferenceRequestedData } from "../../../src/domain/events/inference-events.ts";
import type { ReadEvent } from "../../../src/domain/events/recorded.ts";
import { createEngine } from "../../../src/engine/options/create-engine.ts";
import { defineMiddleware } from "../../../src/engine/ports/middleware.ts";
import { interceptedBy } from "../../../src/engine/run/run-options.ts";
import type { Interceptor } from "../../../src/engine/session/breakpoint.ts";
import { copyConversations } from "../../../src/operations/transfer/copy.ts";
import { scripted } from "../../../src/providers/scripted/scripted.ts";
import { playOtherwise } from "../../../src/replay/counterfactual.ts";
import { createMemoryStore } from "../../../src/stores/memory/store.ts";
import { firstSeed, isTelling, seeds } from "../../support/cases.ts";
import { createRandom, type Random } from "../../support/coherence/random.ts";
import { keepingDialect, keepingProvider, startKeeping } from "../../support/keeping/dialect.ts";
import type { Keeping } from "../../support/keeping/front.ts";
import { replayed } from "../../support/replayed.ts";

const noon = Date.parse("2026-03-01T12:00:00.000Z");
const minute = 60_000;

/** What a server that keeps things once was asked, over a family of forks whose processes die and whose answers get lost. */
const emptyTally = () => ({
  chained: 0,
  full: 0,
  otherwise: 0,
  lost: 0,
  killed: 0,
  reasons: new Map<string, number>(),
});

/** The process dies at a stop. */
class Crash extends Error {}

const crashAt = (stop: number): Interceptor => {
  let seen = 0;
  return async () => {
    seen += 1;
    if (seen > stop) throw new Crash();
    return null;
  };
};

/** Says one thing less in the requests of one run. */
const hiding = (random: Random) =>
  defineMiddleware({ name: "hiding", version: "1.0.0" }, (next) => async (turn) => {
    const hidden = turn.at(random.below(Math.max(1, turn.length - 1)));
    return next(hidden === undefined || turn.length < 2 ? turn : turn.remove(hidden));
  });

async function play(seed: number, keeping: Keeping, tally: ReturnType<typeof emptyTally>): Promise<void> {
  const random = createRandom(seed);
  const dialect = keepingDialect(keeping);
  const violations: string[] = [];
  let now = noon;
  let count = 0;
  const words = (how: string): string => {
    count += 1;
    return `${how} ${count}.`;
  };
  const answer = () => ({ output: [message(words("said"))] });
  await using kept = await startKeeping(keeping, answer, { violations, clock: () => now });
  const { front, server, url } = kept;
  const events = createMemoryStore();
  const clock = () => now;
  const detour = scripted(() => words("from elsewhere"));
  const openStore = () =>
    new TurnlogStore(events, { clock, pause: async () => undefined, codecs: [...dialect.codecs, detour.codec] });
  let store = openStore();
  const ids = [store.conversation().id];
  for (const id of ids) await store.conversation(id).append(words("asked"));
  const asks = (instructions: string) => keepingProvider(keeping, url, { model: "m", instructions });
  const engineOf = (of: { readonly instructions: string; readonly isHiding: boolean; readonly isElsewhere: boolean }) =>
    createEngine({
      provider: of.isElsewhere ? detour : asks(of.instructions),
      middleware: of.isHiding ? [hiding(createRandom(seed))] : [],
      ...{ clock, sleep: async () => undefined },
    });
  const plain = { instructions: "Be exact.", isHiding: false, isElsewhere: false };

  /** What the model read is the Turn without its end, word for word. */
  const judge = async (conversation: Conversation, before: number): Promise<void> => {
    const index = front.requests.length - 1;
    if (index < before) return;
    const items = JSON.stringify(front.reading(index)?.items ?? []);
    const turn = await conversation.turn();
    const texts = turn.slice(turn.length - 1).blocks.map(({ text }) => text);
    const read = items.match(/(said|asked|from elsewhere) \d+\./g) ?? [];
    expect({ seed, read }).toEqual({ seed, read: texts });
  };

  for (let step = 0; step < 14; step += 1) {
    const conversation = store.conversation(random.pick(ids));
    const act = random.below(10);
    now += random.pick([1_000, minute, minute, 4 * minute, 6 * minute]);
    if (act === 0) ids.push((await conversation.fork(random.below((await conversation.at(-1)).revision + 1))).id);
    else if (act === 1) {
      const { exchanges } = await conversation.turn();
      if (exchanges.length > 0) await conversation.revertToExchange(random.below(exchanges.length));
    } else {
      await conversation.append(words("asked"));
      const how = random.below(10);
      const engine = engineOf({
        instructions: how === 0 ? "Be brief." : "Be exact.",
        isHiding: how === 1,
        isElsewhere: how === 2,
      });
      const before = front.requests.length;
      if (how === 3 || how === 4) server.inject({ kind: "lost-acknowledgement" });
      const options = how > 6 ? {} : how > 4 ? interceptedBy(crashAt(random.below(6)), {}) : {};
      const outcome = await conversation.run(engine, options).then(
        () => "done",
        (error: unknown) => (error instanceof Crash ? "killed" : "failed"),
      );
      if (outcome === "done" && how !== 1 && how !== 2) await judge(conversation, before);
      if (outcome === "failed") tally.lost += 1;
      if (outcome !== "killed") continue;
      tally.killed += 1;
      // The next process takes it up, or gives it up.
      store = openStore();
      const next = store.conversation(conversation.id);
      const asked = front.requests.length;
      if (random.chance(0.7)) await next.resume(engineOf(plain), { onStackChanged: "abandon" });
      else await next.run(engineOf({ ...plain, instructions: "Be brief." }), { unfinished: "abandon" });
      await judge(next, asked);
    }
  }
  expect({ seed, violations }).toEqual({ seed, violations: [] });

  for (const conversation of ids.map((id) => store.conversation(id))) {
    const { id } = conversation;
    const { difference } = await replayed(store, { id });
    expect({ seed, id, difference }).toEqual({ seed, id, difference: null });
    const requests = await requestsIn(conversation.events());
    for (const { decision } of requests) {
      tally[decision.strategy === "full" ? "full" : "chained"] += 1;
      const why = decision.reason ?? "";
      tally.reasons.set(why, (tally.reasons.get(why) ?? 0) + 1);
    }
    expect({ seed, named: namedTwice(requests, detour.scope) }).toEqual({ seed, named: [] });
    // And so it is in what might have been, whose answers name the same anchors.
    const memory = createMemoryStore();
    const kept = { ...memory, close: async () => undefined, [Symbol.asyncDispose]: async () => undefined };
    const { steps } = await playOtherwise(conversation, engineOf({ ...plain, isHiding: true }), {}, () => kept);
    tally.otherwise += steps.length;
    const wouldBe = await requestsIn(new TurnlogStore(memory).conversation(id).events());
    expect({ seed, named: namedTwice(wouldBe, detour.scope) }).toEqual({ seed, named: [] });
  }
}

async function requestsIn(events: AsyncIterable<ReadEvent>): Promise<InferenceRequestedData[]> {
  const requests: InferenceRequestedData[] = [];
  for await (const { event } of events) if (event.type === "InferenceRequested") requests.push(event.data);
  return requests;
}

/** Answers that two requests continued from, by the log alone. */
function namedTwice(requests: readonly InferenceRequestedData[], elsewhere: string): readonly string[] {
  const named = requests.filter(({ scope }) => scope !== elsewhere).flatMap(({ decision: { anchor } }) => anchor ?? []);
  const places = named.map(({ id, inferenceId }) => `${id} of ${inferenceId}`);
  return places.filter((place, n) => places.indexOf(place) < n);
}

test.each(["thread", "session"] as const)(
  `what a server keeps once in a %s is named once, whatever is lost, killed, forked or waited for (from seed ${firstSeed})`,
  { timeout: 3_600_000 },
  async (keeping) => {
    const tally = emptyTally();
    for (const seed of seeds(9, 4_000, 20)) await play(seed, keeping, tally);
    process.stdout.write(
      `kept once, ${keeping}: ${JSON.stringify({ ...tally, reasons: Object.fromEntries(tally.reasons) })}\n`,
    );
    if (!isTelling) return;
    expect(tally.chained).toBeGreaterThan(20);
    expect(tally.lost).toBeGreaterThan(5);
    expect(tally.killed).toBeGreaterThan(5);
    const wanted = [
      "continued",
      "maybe-continued",
      "inherited",
      ...(keeping === "thread" ? ["expired", "settings-changed"] : []),
    ];
    expect(wanted.filter((reason) => (tally.reasons.get(reason) ?? 0) === 0)).toEqual([]);
  },
);

test("a fork leaves to its parent what can be continued once", async () => {
  const violations: string[] = [];
  await using kept = await startKeeping("session", () => ({ output: [message("Yes.")] }), { violations });
  const store = new TurnlogStore(createMemoryStore());
  const engine = createEngine({ provider: keepingProvider("session", kept.url, { model: "m" }) });
  const conversation = store.conversation();
  await conversation.append("one");
  await conversation.run(engine);
  const fork = await conversation.fork();
  for (const each of [fork, conversation, fork]) {
    await each.append("and then?");
    await each.run(engine);
  }
  const asked = await Promise.all([fork, conversation].map((each) => requestsIn(each.events())));
  const reasons = asked.map((requests) => requests.map(({ decision }) => decision.reason));
  expect(reasons).toEqual([
    ["inherited", null],
    ["first-request", null],
  ]);
});

test("what somebody else has continued is given up by an event, and everything is sent", async () => {
  const violations: string[] = [];
  await using kept = await startKeeping("thread", () => ({ output: [message("Yes.")] }), { violations });
  const events = createMemoryStore();
  const engine = createEngine({ provider: keepingProvider("thread", kept.url, { model: "m" }) });
  const store = new TurnlogStore(events);
  const conversation = store.conversation();
  await conversation.append("one");
  await conversation.run(engine);
  const others = createMemoryStore();
  await copyConversations({ events }, { events: others });
  await using elsewhere = new TurnlogStore(others);
  const copy = elsewhere.conversation(conversation.id);
  for (const each of [copy, conversation]) {
    await each.append("two");
    expect((await each.run(engine)).text).toBe("Yes.");
  }
  expect(violations).toHaveLength(1);
  const told: unknown[] = [];
  for await (const { event } of conversation.events()) {
    if (event.type === "InferenceRequested") told.push(event.data.decision.reason);
    if (event.type === "InferenceFailed") told.push(event.data.kind);
    if (event.type === "AnchorInvalidated") told.push([event.data.anchor?.kind, event.data.reason]);
  }
  expect(told).toEqual(["first-request", null, "already-continued", ["thread", "continued"], "refused"]);
});
