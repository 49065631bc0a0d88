import { expect, test } from "vitest";
import { isJsonObject } from "../../src/base/json.ts";
import type { RunResult } from "../../src/engine/options/result.ts";
import { isLong } from "../support/cases.ts";
import { dialects } from "../support/dialects.ts";
import { playAside } from "../support/faults/crash-runner.ts";
import { conversationId, counting, engineOf, hello } from "../support/faults/crash-world.ts";
import { checkLedger, checkLog, createWorld, finish, type World } from "../support/faults/killed-world.ts";
import { playerOf } from "../support/faults/warm-runs.ts";
import { dataOf, eventsOf } from "../support/workshop.ts";

/** A warm-up is recorded, sent, and its answer recorded: held before and after each. Further stops are the run's. */
const stopsOfWarmUp = 6;
const stopOfSending = 3;
const stopOfRun = 9;

type Case = { readonly id: string; readonly stop: number; readonly hasExchange: boolean };

const allStops = [...Array.from({ length: stopsOfWarmUp }, (_, stop) => stop), stopOfRun];

/** Killed at these stops where there is little time, else at all. */
const casesOf = (hasExchange: boolean, first: number, stops: readonly number[]): readonly Case[] =>
  (isLong ? allStops : stops).map((stop) => ({ id: conversationId(first + stop), stop, hasExchange }));

/** A conversation that waits for an answer: its first, or one after an exchange on a connection that is gone. */
async function begin({ place, store }: World, { id, hasExchange }: Pick<Case, "id" | "hasExchange">): Promise<void> {
  const conversation = store.conversation(id);
  await conversation.append(hello);
  if (!hasExchange) return;
  await using engine = engineOf(place, `${id}, earlier`);
  await conversation.run(engine);
  await conversation.append("And then?");
}

const playedBy = ({ place, store }: World, id: string) => playerOf(place, store, id, counting());

async function saidBy({ place }: World, { turn, steps }: RunResult) {
  return { says: dialects[place.dialect].essence(await turn()), first: steps[0]?.decision.strategy };
}

/** What the server was sent to hold without an answer, and what the logs say of that. */
async function warmUpsOf({ store, model }: World, ids: readonly string[]) {
  const sent = model.requests.filter(({ body }) => isJsonObject(body) && body["generate"] === false);
  const recorded: string[] = [];
  for (const id of ids) {
    const conversation = store.conversation(id);
    for (const { event, revision } of await eventsOf(conversation))
      if (event.type === "WarmUpRequested") recorded.push((await conversation.request(revision)).bodyText);
  }
  return { sent: sent.map(({ bodyText }) => bodyText), recorded };
}

test.each([
  ["unstored", false],
  ["stored", true],
] as const)(
  "a warm-up whose process is killed before and after each durable write and its request is done again, or done without: %s",
  { timeout: 3_600_000 },
  async (_, isStored) => {
    await using world = await createWorld("sqlite", { transport: "websocket", isStored, isWarm: true });
    // What is stored can be continued behind an exchange as it is: there is nothing to warm up.
    const cases = isStored
      ? casesOf(false, 100, [2, 5])
      : [...casesOf(false, 100, allStops), ...casesOf(true, 200, [1, 4, stopOfRun])];
    const whole = new Map<boolean, Awaited<ReturnType<typeof saidBy>>>();
    for (const hasExchange of new Set(cases.map((each) => each.hasExchange))) {
      const id = conversationId(hasExchange ? 1 : 0);
      await begin(world, { id, hasExchange });
      const player = playedBy(world, id);
      expect(await player.warmUp()).toMatchObject({ status: "warm", failure: null });
      whole.set(hasExchange, await saidBy(world, await player.run()));
    }
    await Promise.all(cases.map((each) => begin(world, each)));
    const { place } = world;
    const reports = await playAside(
      cases.map(({ id, stop }) => ({ place, id, what: "run", stop, hasMessage: false }) as const),
    );
    for (const { id, stop, hasExchange } of cases) {
      expect(reports.get(id)?.outcome).toBe("held");
      const player = playedBy(world, id);
      const isWarmedAgain = stop % 2 === 0 && stop < stopsOfWarmUp;
      if (isWarmedAgain) expect(await player.warmUp()).toMatchObject({ status: "warm", failure: null });
      if (stop >= stopsOfWarmUp) {
        // What a run that was cut off asks next is nobody's to ready.
        await expect(player.warmUp()).rejects.toMatchObject({ code: "run-in-progress" });
        await finish(world, id);
      } else {
        const { says, first } = await saidBy(world, await player.run());
        // A connection is gone with its process; what the server stores is there as soon as the log says so.
        const isHeld = isWarmedAgain || (isStored && stop === stopsOfWarmUp - 1);
        const expected = { says: whole.get(hasExchange)?.says, first: isHeld ? "chained" : "full" };
        expect({ id, says, first }).toEqual({ id, ...expected });
      }
      const turn = await world.store.conversation(id).turn();
      expect({ id, says: dialects.responses.essence(turn) }).toEqual({ id, says: whole.get(hasExchange)?.says });
    }
    expect([...whole.values()].map(({ first }) => first)).toEqual([...whole].map(() => "chained"));
    const ids = [
      ...[...whole.keys()].map((hasExchange) => conversationId(hasExchange ? 1 : 0)),
      ...cases.map(({ id }) => id),
    ];
    const { sent, recorded } = await warmUpsOf(world, ids);
    // Durable before it is sent; one that was not sent is on record only.
    const isSent = ({ stop }: Case) => stop >= stopOfSending;
    const again = cases.filter(({ stop }) => stop % 2 === 0 && stop < stopsOfWarmUp);
    expect(sent.length).toBe(whole.size + cases.filter(isSent).length + again.length);
    expect(sent.filter((bodyText) => !recorded.includes(bodyText))).toEqual([]);
    // Nothing was asked for that the server has not: each request was accepted.
    expect(world.model.requests.filter(({ status }) => status >= 400).map(({ bodyText }) => bodyText)).toEqual([]);
    const failures = await Promise.all(
      ids.map(async (id) => dataOf(await eventsOf(world.store.conversation(id)), "WarmUpFailed")),
    );
    expect(failures.flat()).toEqual([]);
    checkLedger(world);
    await checkLog(world, ids);
  },
);
