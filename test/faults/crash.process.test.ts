import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { RecordedEvent } from "../../src/domain/events/recorded.ts";
import { cases, firstSeed, isLong } from "../support/cases.ts";
import { createRandom } from "../support/coherence/random.ts";
import { type DialectName, dialects } from "../support/dialects.ts";
import type { Orders } from "../support/faults/crash-process.ts";
import { playAside } from "../support/faults/crash-runner.ts";
import { comeLater, conversationId, counting, engineOf, hello, type Place } from "../support/faults/crash-world.ts";
import { checkLedger, checkLog, createWorld, finish, type Served, type World } from "../support/faults/killed-world.ts";
import { playerOf } from "../support/faults/warm-runs.ts";
import { runningServers } from "../support/stores/running-server.ts";
import { dataOf, eventsOf } from "../support/workshop.ts";

/** Rounds of ten runs and of the ten recoveries of them, each process killed at a random instant. */
const rounds = cases(2, 100);

const warmedUp = { transport: "websocket", isStored: false, isWarm: true } as const satisfies Served;

/** How the model is asked, by where its log is; of so many stops one where there is little time. */
const kinds: readonly (readonly [name: string, served: Served, everyNth: number])[] = [
  ["sqlite", {}, 1],
  ["sqlite, over SSE", { transport: "sse" }, 40],
  ["sqlite, over WebSocket", { transport: "websocket", isStored: false }, 5],
  ["sqlite, over WebSocket, stored", { transport: "websocket" }, 40],
  ["sqlite, over WebSocket, stateless", { transport: "websocket", mode: "stateless", isStored: false }, 40],
  ["sqlite, in mode conversation", { mode: "conversation" }, 5],
  ["sqlite, in mode conversation over SSE", { mode: "conversation", transport: "sse" }, 40],
  ["sqlite, in mode stateless", { mode: "stateless" }, 40],
  ["sqlite, in mode auto", { mode: "auto" }, 40],
  ["sqlite, in another dialect", { dialect: "toy" }, 10],
  ["sqlite, in Chat Completions", { dialect: "chat" }, 10],
  ["sqlite, in the Messages API", { dialect: "anthropic" }, 40],
  ["sqlite, in message threads", { dialect: "anthropic-threads" }, 40],
  ["sqlite, by Gemini", { dialect: "google" }, 40],
  ["sqlite, by Interactions", { dialect: "google-interactions" }, 40],
  ["sqlite, by Ollama", { dialect: "ollama" }, 40],
  ["sqlite, by the AI SDK", { dialect: "ai-sdk" }, 40],
  ["sqlite, by the Claude CLI", { dialect: "claude-cli" }, 40],
  ["eventstoredb", {}, 5],
  ["an unkind eventstoredb", {}, 10],
  // Every stop of a warm-up is met in a test of its own.
  ...(isLong ? [["sqlite, over WebSocket, warmed up", warmedUp, 1] as const] : []),
  ...runningServers.map(() => ["the server of TURNLOG_TEST_ESDB", {}, 5] as const),
];

/** Wires that send everything each time. */
const wholeWires: ReadonlySet<DialectName> = new Set(["toy", "chat", "anthropic", "google", "ollama", "ai-sdk"]);
const isChainingIn = ({ mode, dialect }: Place): boolean => mode !== "stateless" && !wholeWires.has(dialect);

/** What a run that nobody disturbs comes to. */
async function uninterrupted({ place, store }: World) {
  const id = conversationId(0);
  const conversation = store.conversation(id);
  await conversation.append(hello);
  const { passed, ...held } = counting();
  const player = playerOf(place, store, id, held);
  if (place.isWarm) expect(await player.warmUp()).toMatchObject({ status: "warm" });
  const { turn, steps } = await player.run();
  const says = dialects[place.dialect].essence(await turn());
  return { ...passed, says, steps: steps.length, asked: askedIn(await eventsOf(conversation)) };
}

type Expected = Awaited<ReturnType<typeof uninterrupted>>;

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

type Job = Orders["jobs"][number];

/** Has runs begin and die at their stops, each in turn with a message before, in or after it, or none. */
async function dieAt(world: World, jobs: readonly Job[]): Promise<Awaited<ReturnType<typeof playAside>>> {
  await Promise.all(jobs.map(({ id }) => world.store.conversation(id).append(hello)));
  return playAside({ place: world.place, jobs: [...jobs] });
}

const isBegun = async ({ store }: World, id: string): Promise<boolean> =>
  dataOf(await eventsOf(store.conversation(id)), "RunStarted").length > 0;

const resumes = (ids: readonly string[], stop: number | null = null): Job[] =>
  ids.map((id) => ({ id, what: "resume", stop, hasMessage: false }));

/** All of the numbers, or every n-th of them where there is little time. */
const sampled = (count: number, everyNth: number): readonly number[] =>
  Array.from({ length: count }, (_, n) => n).filter((n) => isLong || n % everyNth === 0);

/** Appends that a recovery needs besides. */
function moreIn({ mode, dialect }: Place): number {
  // Around what it asks of a conversation object: that it was cut off, a listing, a new object.
  if (mode === "conversation") return 6;
  // A session that is lost is refused, and everything goes to a new one.
  return dialect === "claude-cli" ? 3 : 0;
}

describe.each(kinds)("a run on %s whose process is killed", (kind, served, everyNth) => {
  let world: World;
  let expected: Expected;
  beforeAll(async () => {
    world = await createWorld(kind, served);
    expected = await uninterrupted(world);
  });
  afterAll(() => world[Symbol.asyncDispose]());

  test("before and after every durable write and every effect ends as if nothing had happened", {
    timeout: 3_600_000,
  }, async () => {
    const isChaining = [...expected.asked.values()].includes("chained");
    expect({ kind, isChaining }).toEqual({ kind, isChaining: isChainingIn(world.place) });
    const isAgent = world.place.dialect === "claude-cli";
    let [parked, lost] = [0, 0];
    for (const batch of batchesOf(sampled(expected.stops, everyNth), isLong ? 1 : 24)) {
      const jobs = batch.map((stop): Job => {
        return { id: conversationId(stop + 1), what: "run", stop, hasMessage: stop % 3 === 0 };
      });
      const reports = await dieAt(world, jobs);
      const ends = jobs.map(async ({ id, stop }) => {
        const report = reports.get(id);
        expect(report?.outcome).toBe("held");
        if ((stop ?? 0) % 3 === 1) await comeLater(world.store.conversation(id));
        if (!(await isBegun(world, id))) return;
        if (isAgent && (stop ?? 0) % 2 === 0) await loseSessions(world, id);
        const finished = await finish(world, id);
        parked += finished.parked;
        // A recovery writes that it took the run up with the first that it does, and what somebody settled once more.
        const more = (report?.appends ?? 0) + finished.appends - expected.appends;
        expect({ id, isFrugal: more <= 1 + moreIn(world.place) + 3 * finished.parked }).toEqual({ id, isFrugal: true });
        await check(world, id, expected);
        lost += await lostStates(world, id);
      });
      await Promise.all(ends);
    }
    checkLedger(world);
    // Otherwise with what comes of recoveries that are killed.
    if (isLong)
      await checkLog(
        world,
        sampled(expected.stops, 1).map((stop) => conversationId(stop + 1)),
      );
    expect({ kind, lost: lost > 0 }).toEqual({ kind, lost: isAgent });
    // Of few stops none may leave it open whether an effect was done.
    if (isLong || everyNth < 40) expect(parked).toBeGreaterThan(0);
    process.stdout.write(`crash: ${expected.stops} stops on ${kind}, ${parked} times something in doubt\n`);
  });

  test("and whose recoveries are killed too, wherever, ends all the same", { timeout: 3_600_000 }, async () => {
    // Of few stops one in the middle, where much is done and much is left.
    const ids: string[] = [];
    const isOne = !isLong && everyNth >= 40;
    const cuts = isOne ? [Math.floor(expected.stops / 2)] : sampled(expected.stops, 6 * everyNth);
    const { below } = createRandom(firstSeed);
    // Every stop of the run meets other stops of its recoveries with each shift; another seed draws others.
    const shifts = Array.from({ length: isLong ? 8 : 1 }, () => below(expected.stops));
    let ended = 0;
    for (const [round, shift] of shifts.entries()) {
      const jobs = cuts.map((stop): Job => {
        return { id: conversationId((round + 1) * 1_000 + stop), what: "run", stop, hasMessage: false };
      });
      ids.push(...jobs.map(({ id }) => id));
      await dieAt(world, jobs);
      // Each recovery dies at another place of what is left, then the next one sooner.
      const again = (step: number): Job[] =>
        jobs.map((job, n) => ({
          ...job,
          what: "resume",
          stop: (n + shift + step) % (expected.stops - (job.stop ?? 0)),
        }));
      for (const step of isOne ? [3] : [3, 7, 1]) await playAside({ place: world.place, jobs: again(step) });
      for (const { id } of jobs) {
        if (!(await isBegun(world, id))) continue;
        await finish(world, id);
        await check(world, id, expected);
        ended += 1;
      }
    }
    checkLedger(world);
    await checkLog(world, ids);
    expect(ended).toBeGreaterThan(0);
  });
});

test(`runs and recoveries that are killed at ${rounds * 20} random instants (seed ${firstSeed}) end as if nothing had happened`, {
  timeout: 3_600_000,
}, async () => {
  await using world = await createWorld("sqlite");
  const expected = await uninterrupted(world);
  const { below } = createRandom(firstSeed);
  for (let round = 0; round < rounds; round += 1) {
    const ids = Array.from({ length: 10 }, (_, n) => conversationId(round * 10 + n + 1));
    await Promise.all(ids.map((id) => world.store.conversation(id).append(hello)));
    const jobs = ids.map((id): Job => ({ id, what: "run", stop: null, hasMessage: false }));
    const orders = { place: world.place, jobs };
    await playAside(orders, 1 + below(10 * expected.stops));
    // The process that takes them up dies as well.
    await playAside({ ...orders, jobs: resumes(ids) }, 1 + below(3 * expected.stops));
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

test("two processes that take up one run: one goes on with it, the other is told, and nothing happens twice", {
  timeout: 600_000,
}, async () => {
  await using world = await createWorld("sqlite");
  const expected = await uninterrupted(world);
  let races = 0;
  // Which of the two comes first is chance, and so is that they meet: they get another chance where they never did.
  for (let round = 0; round === 0 || (races === 0 && round < 8); round += 1) {
    const jobs = sampled(expected.stops, 6).map((stop): Job => {
      return { id: conversationId(round * 1_000 + stop + 1), what: "run", stop, hasMessage: false };
    });
    await dieAt(world, jobs);
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
  const orders = { place: world.place, jobs: resumes(ids) };
  const told = await Promise.all([playAside(orders), playAside(orders)]);
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
