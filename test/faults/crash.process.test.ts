import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { RecordedEvent } from "../../src/domain/events/recorded.ts";
import { cases, firstSeed, isLong, isRound, isTelling } from "../support/cases.ts";
import { createRandom } from "../support/coherence/random.ts";
import { type DialectName, dialects } from "../support/dialects.ts";
import { everyNthOf, groups, ofEachKind, sampled } from "../support/faults/crash-kinds.ts";
import { type Job, playAside } from "../support/faults/crash-runner.ts";
import { comeLater, conversationId, counting, engineOf, hello, type Place } from "../support/faults/crash-world.ts";
import { checkLedger, checkLog, createWorld, finish, type World } from "../support/faults/killed-world.ts";
import { kindOfStop } from "../support/faults/kind-of-stop.ts";
import { playerOf } from "../support/faults/warm-runs.ts";
import { dataOf, eventsOf } from "../support/workshop.ts";

/** Rounds of ten runs and of the ten recoveries of them, each process killed at a random instant. */
const rounds = cases(1, 100, 2);

/** Wires that send everything each time. */
const wholeWires: ReadonlySet<DialectName> = new Set(["toy", "chat", "anthropic", "google", "ollama", "ai-sdk"]);
const isChainingIn = ({ mode, dialect }: Place): boolean => mode !== "stateless" && !wholeWires.has(dialect);

/** What a run that nobody disturbs comes to. */
async function uninterrupted({ place, store }: World) {
  const id = conversationId(0);
  const conversation = store.conversation(id);
  await conversation.append(hello);
  const { passed, gate, pass } = counting();
  const kindsOfStops: string[] = [];
  const player = playerOf(place, store, id, {
    pass(kind, phase) {
      kindsOfStops.push(`${phase} ${kind}`);
      return pass(kind, phase);
    },
    gate(stop) {
      kindsOfStops.push(kindOfStop(stop));
      return gate(stop);
    },
  });
  if (place.isWarm) expect(await player.warmUp()).toMatchObject({ status: "warm" });
  const { turn, steps } = await player.run();
  const says = dialects[place.dialect].essence(await turn());
  return { ...passed, kindsOfStops, says, steps: steps.length, asked: askedIn(await eventsOf(conversation)) };
}

type Expected = Awaited<ReturnType<typeof uninterrupted>>;

/** A kind of run, its world, and the number from which on its conversations are called. */
type Played = {
  readonly kind: string;
  readonly world: World;
  readonly expected: Expected;
  readonly first: number;
};

/** How each step's answered request was sent, by frame. */
function askedIn(events: readonly RecordedEvent[]): ReadonlyMap<string, string> {
  const asked = new Map<string, string>();
  for (const { event, frame } of events) {
    if (event.type === "InferenceRequested") asked.set(frame ?? "", event.data.decision.strategy);
  }
  return asked;
}

/** The run has ended as if nobody had disturbed it, nothing happened twice, and there is nothing left to do. */
async function check({ place, store }: World, id: string, expected: Expected): Promise<void> {
  const conversation = store.conversation(id);
  const events = await eventsOf(conversation);
  const turn = await conversation.turn();
  const later = turn.blocks.findIndex(({ text }) => text === "Are you there?");
  const isTold = dataOf(events, "BlockAppended").length === 2;
  expect({ id, isTold: later === turn.length - 1 && later > 0 }).toEqual({ id, isTold });
  const answered = isTold ? turn.slice(turn.length - 1) : turn;
  expect({ id, says: dialects[place.dialect].essence(answered) }).toEqual({ id, says: expected.says });
  // What a connection remembered is gone with the process, an object that an answer may still enter, and what is continued once where a
  // lost answer may have continued it: another plan, the same Turn.
  const isPlanKept = place.transport !== "websocket" && place.mode !== "conversation" && !linear.has(place.dialect);
  if (isPlanKept) expect({ id, asked: askedIn(events) }).toEqual({ id, asked: expected.asked });
  expect(await conversation.resume(engineOf(place, id))).toBeNull();
  expect((await eventsOf(conversation)).length).toBe(events.length);
}

const linear: ReadonlySet<DialectName> = new Set(["anthropic-threads", "claude-cli"]);

/** What an agent keeps of its sessions may be gone with the process that asked it. */
async function loseSessions({ store, model }: World, id: string): Promise<void> {
  const anchors = dataOf(await eventsOf(store.conversation(id)), "ResponseReceived").map(({ anchor }) => anchor);
  for (const anchor of anchors) if (anchor?.kind === "session") model.forget(anchor.id);
}

const lostStates = async ({ store }: World, id: string): Promise<number> =>
  dataOf(await eventsOf(store.conversation(id)), "InferenceFailed").filter(({ kind }) => kind === "lost-state").length;

const batchesOf = <T>(all: readonly T[], size: number): readonly (readonly T[])[] =>
  Array.from({ length: Math.ceil(all.length / size) }, (_, n) => all.slice(n * size, (n + 1) * size));

/** Has runs begin and die at their stops, each in turn with a message before, in or after it, or none. */
async function dieAt(jobs: readonly (readonly [world: World, job: Job])[]): ReturnType<typeof playAside> {
  await Promise.all(jobs.map(([{ store }, { id }]) => store.conversation(id).append(hello)));
  return playAside(jobs.map(([, job]) => job));
}

const isAgent = ({ place }: World): boolean => place.dialect === "claude-cli";

const isBegun = async ({ store }: World, id: string): Promise<boolean> =>
  dataOf(await eventsOf(store.conversation(id)), "RunStarted").length > 0;

/** Appends that a recovery needs besides. */
function moreIn({ mode, dialect }: Place): number {
  // Around what it asks of a conversation object: that it was cut off, a listing, a new object.
  if (mode === "conversation") return 6;
  // A session that is lost is refused, and everything goes to a new one.
  return dialect === "claude-cli" ? 3 : 0;
}

describe.each(groups)("runs whose process is killed, on $names", ({ kinds, everyNth }) => {
  const played: Played[] = [];
  beforeAll(async () => {
    for (const [kind, served] of kinds) {
      const world = await createWorld(kind, served);
      played.push({ kind, world, expected: await uninterrupted(world), first: 10_000 * played.length });
    }
  });
  afterAll(async () => {
    for (const { world } of played) await world[Symbol.asyncDispose]();
  });

  test("before and after every durable write and every effect they end as if nothing had happened", {
    timeout: 3_600_000,
  }, async () => {
    for (const { kind, world, expected } of played) {
      const isChaining = [...expected.asked.values()].includes("chained");
      expect({ kind, isChaining }).toEqual({ kind, isChaining: isChainingIn(world.place) });
    }
    const tallies = new Map(played.map(({ kind }) => [kind, { parked: 0, lost: 0 }]));
    const all = played.flatMap((each) =>
      sampled(each.expected.kindsOfStops, everyNth).map((stop) => {
        const { first, world } = each;
        const id = conversationId(first + stop + 1);
        return { each, job: { place: world.place, id, what: "run", stop, hasMessage: stop % 3 === 0 } as const };
      }),
    );
    for (const batch of batchesOf(all, isLong ? 1 : 72)) {
      const reports = await dieAt(batch.map(({ each, job }) => [each.world, job]));
      const ends = batch.map(async ({ each: { kind, world, expected }, job: { id, stop } }) => {
        const report = reports.get(id);
        expect(report?.outcome).toBe("held");
        if (stop % 3 === 1) await comeLater(world.store.conversation(id));
        if (!(await isBegun(world, id))) return;
        if (isAgent(world) && stop % 2 === 0) await loseSessions(world, id);
        const finished = await finish(world, id);
        // A recovery writes that it took the run up with the first that it does, and what somebody settled once more.
        const more = (report?.appends ?? 0) + finished.appends - expected.appends;
        const isFrugal = more <= 1 + moreIn(world.place) + 3 * finished.parked;
        expect({ kind, id, isFrugal }).toEqual({ kind, id, isFrugal: true });
        await check(world, id, expected);
        const tally = tallies.get(kind);
        if (tally === undefined) return;
        tally.parked += finished.parked;
        tally.lost += await lostStates(world, id);
      });
      await Promise.all(ends);
    }
    for (const { kind, world, expected, first } of played) {
      checkLedger(world);
      const stops = sampled(expected.kindsOfStops, everyNth);
      // Otherwise with what comes of recoveries that are killed.
      if (isLong)
        await checkLog(
          world,
          stops.map((stop) => conversationId(first + stop + 1)),
        );
      const { parked = 0, lost = 0 } = tallies.get(kind) ?? {};
      // Of the stops that a round plays there may be none whose sessions are lost.
      if (isTelling || !isAgent(world)) expect({ kind, lost: lost > 0 }).toEqual({ kind, lost: isAgent(world) });
      // Of few stops none may leave it open whether an effect was done.
      if (isLong || everyNth < 40) expect({ kind, isParked: parked > 0 }).toEqual({ kind, isParked: true });
      process.stdout.write(
        `crash: ${stops.length} of ${expected.stops} stops on ${kind}, ${parked} times something in doubt\n`,
      );
    }
  });

  test("and whose recoveries are killed too, wherever, they end all the same", { timeout: 3_600_000 }, async () => {
    // Of few stops one in the middle, where much is done and much is left.
    const isOne = !isLong && everyNth >= 40;
    const { below } = createRandom(firstSeed);
    // Every stop of the run meets other stops of its recoveries with each shift; another seed draws others.
    const shifts = Array.from({ length: isLong ? 8 : 1 }, () => below(10_000));
    const ids: { readonly world: World; readonly id: string }[] = [];
    let ended = 0;
    for (const [round, shift] of shifts.entries()) {
      const jobs = played.flatMap((each) => {
        const { stops } = each.expected;
        const cuts = isOne
          ? [Math.floor(stops / 2)]
          : everyNthOf(stops, everyNth === ofEachKind ? (isRound ? 9 : 18) : 6 * everyNth);
        return cuts.map((stop, n) => {
          const id = conversationId(each.first + (round + 1) * 1_000 + stop);
          const job = { place: each.world.place, id, what: "run", stop, hasMessage: false } as const;
          return { each, job, stopAgain: (step: number) => (n + shift + step) % (stops - stop) };
        });
      });
      await dieAt(jobs.map(({ each, job }) => [each.world, job]));
      // Each recovery dies at another place of what is left, then the next one sooner.
      for (const step of isOne ? [3] : [3, 7, 1])
        await playAside(jobs.map(({ job, stopAgain }) => ({ ...job, what: "resume", stop: stopAgain(step) })));
      for (const { each, job } of jobs) {
        if (!(await isBegun(each.world, job.id))) continue;
        await finish(each.world, job.id);
        await check(each.world, job.id, each.expected);
        ended += 1;
      }
      ids.push(...jobs.map(({ each, job }) => ({ world: each.world, id: job.id })));
    }
    for (const { world } of played) {
      checkLedger(world);
      await checkLog(
        world,
        ids.filter((each) => each.world === world).map(({ id }) => id),
      );
    }
    expect(ended).toBeGreaterThan(0);
  });
});

const jobsOf = ({ place }: World, ids: readonly string[], what: Job["what"]): readonly Job[] =>
  ids.map((id) => ({ place, id, what, stop: null, hasMessage: false }));

test(`runs and recoveries that are killed at ${rounds * 20} random instants (seed ${firstSeed}) end as if nothing had happened`, {
  timeout: 3_600_000,
}, async () => {
  await using world = await createWorld("sqlite");
  const expected = await uninterrupted(world);
  const { below } = createRandom(firstSeed);
  for (let round = 0; round < rounds; round += 1) {
    const ids = Array.from({ length: 10 }, (_, n) => conversationId(round * 10 + n + 1));
    await Promise.all(ids.map((id) => world.store.conversation(id).append(hello)));
    await playAside(jobsOf(world, ids, "run"), 1 + below(10 * expected.stops));
    // The process that takes them up dies as well.
    await playAside(jobsOf(world, ids, "resume"), 1 + below(3 * expected.stops));
    const ends = ids.map(async (id) => {
      if (!(await isBegun(world, id))) return;
      await finish(world, id);
      await check(world, id, expected);
    });
    await Promise.all(ends);
  }
  checkLedger(world);
  await checkLog(
    world,
    Array.from({ length: 10 * rounds }, (_, n) => conversationId(n + 1)),
  );
});

test("of two processes that resume one run one continues it, the other gets an error, and nothing happens twice", {
  timeout: 600_000,
}, async () => {
  await using world = await createWorld("sqlite");
  const expected = await uninterrupted(world);
  let races = 0;
  // Which of the two comes first is chance, and so is that they meet: they get another chance where they never did.
  for (let round = 0; round === 0 || (races === 0 && round < 8); round += 1) {
    const jobs = everyNthOf(expected.stops, isRound ? 6 : 12).map((stop): Job => {
      const id = conversationId(round * 1_000 + stop + 1);
      return { place: world.place, id, what: "run", stop, hasMessage: false };
    });
    await dieAt(jobs.map((job) => [world, job]));
    races += await takenUpByTwo(world, jobs, expected);
  }
  checkLedger(world);
  await checkLog(world, []);
  expect(races).toBeGreaterThan(0);
});

/** Two processes take up every run that is open; answers how often one found that the other was at it. */
async function takenUpByTwo(world: World, jobs: readonly Job[], expected: Expected): Promise<number> {
  const ids: string[] = [];
  for (const { id } of jobs) {
    // Killed after its last append, a run has ended: there is nothing to take up.
    const hasEnded = dataOf(await eventsOf(world.store.conversation(id)), "RunCompleted").length > 0;
    if ((await isBegun(world, id)) && !hasEnded) ids.push(id);
  }
  const resumes = jobsOf(world, ids, "resume");
  const told = await Promise.all([playAside(resumes), playAside(resumes)]);
  let races = 0;
  for (const id of ids) {
    const outcomes = told.map((reports) => reports.get(id)?.outcome ?? "nothing");
    const went = outcomes.filter((outcome) => outcome === "completed" || outcome === "parked");
    races += outcomes.includes("run-in-progress") ? 1 : 0;
    // Who comes when it has ended or waits finds that.
    for (const outcome of outcomes) expect(["completed", "parked", "none", "run-in-progress"]).toContain(outcome);
    expect({ id, went: went.length > 0 }).toEqual({ id, went: true });
    await finish(world, id);
    await check(world, id, expected);
  }
  return races;
}
