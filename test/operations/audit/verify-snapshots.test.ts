import { afterAll, expect, test } from "vitest";
import { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import { type EventStore, envelopeAt } from "../../../src/log/ports/event-store.ts";
import { listKey, readList, snapshotKey, snapshotListName } from "../../../src/log/snapshots/lists.ts";
import { type SnapshotData, sealedData, snapshotText } from "../../../src/log/snapshots/snapshot.ts";
import { verifyStore } from "../../../src/operations/audit/verify.ts";
import { codecs } from "../../../src/providers/codecs.ts";
import { seeds } from "../../support/cases.ts";
import { createRandom } from "../../support/coherence/random.ts";
import { takeSnapshots } from "../../support/log/take-snapshots.ts";
import { randomConversation } from "../../support/random-conversation.ts";
import { snapshotsOf } from "../../support/stores/snapshots-of.ts";
import { createWorkshop, freshStore, storeKinds } from "../../support/workshop.ts";

const stream = "conversation-cnv_workshop";
const tally = { conversations: 0, snapshots: 0 };

test("finds every snapshot right that is taken of random conversations and their forks", {
  timeout: 3_600_000,
}, async () => {
  for (const seed of seeds(4, 1_000, 20)) {
    const random = createRandom(seed + 3_000_000);
    const { conversation, store } = await randomConversation(seed);
    const head = (await store.events.head(stream))?.revision ?? 0;
    await takeSnapshots(store.events, stream, workOf(2 + random.below(12)));
    if (random.chance(0.5)) await conversation.revertTo(random.below(head + 1));
    const fork = await conversation.fork(random.below(head + 1), { id: "cnv_fork" });
    await fork.append("and then?");
    if (random.chance(0.5)) {
      // Its first snapshot follows from its parent's.
      const opened = new TurnlogStore(store.events, { clock: () => 1_772_366_400_000 });
      for (let n = 0; n < 520; n += 1) await opened.conversation("cnv_fork").relabel({ title: `title ${n}` });
    } else await takeSnapshots(store.events, "conversation-cnv_fork", workOf(2 + random.below(12)));
    tally.conversations += 1;
    for (const name of [stream, "conversation-cnv_fork"])
      tally.snapshots += (await snapshotsAt(store.events, name)).length;
    expect(await problemsIn(store.events), `seed ${seed}`).toEqual([]);
  }
});

const workOf = (events: number) => ({ events, edits: 5 });

type Change = (data: SnapshotData, events: EventStore) => SnapshotData | Promise<SnapshotData>;

const changes: readonly (readonly [string, Change, string])[] = [
  ["another title", (data) => ({ ...data, title: "another" }), "its labels"],
  ["a shorter Turn", (data) => ({ ...data, turn: data.turn.slice(0, -1) }), "its Turn is shorter"],
  ["a Turn that begins with another", (data) => ({ ...data, turn: withFirstDigest(data.turn) }), "its Turn is another"],
  [
    "a Turn that ends twice",
    (data) => ({ ...data, turn: [...data.turn, ...data.turn.slice(-1)] }),
    "its Turn is another",
  ],
  ["a Turn of other blocks", swapBlocks, "its blocks are others"],
  ["other answers", (data) => ({ ...data, answeredLength: 0 }), "its labels"],
  ["no response", (data) => ({ ...data, facts: null, newest: [] }), "it knows other endpoints"],
  ["a list that is gone", (data) => ({ ...data, facts: "0".repeat(32) }), "the list 0000"],
  [
    "other facts",
    (data, events) => changedFacts(data, events, (text) => text.replace(/blk_|resp_/, "other_")),
    "its responses",
  ],
  ["ids that are not there", (data, events) => changedFacts(data, events, withoutNames), "its ids are others"],
  [
    "ids that a reader would not look for",
    (data, events) => changedFacts(data, events, (text) => text.replace(/"letters":"..../, '"letters":"____')),
    "not said to have them",
  ],
  ["facts that are none", (data, events) => changedFacts(data, events, () => "neither one line nor two"), "the list"],
  ["another lost endpoint", (data) => ({ ...data, lostScopes: ["nowhere"] }), "lost all they held"],
];

for (const kind of storeKinds) {
  test.each(changes)(`names a snapshot in ${kind} that has %s, by stream and revision`, async (_what, change, told) => {
    const events = await freshStore(kind);
    await talk(events);
    expect(await problemsIn(events)).toEqual([]);
    const [newest = -1] = await snapshotsAt(events, stream);
    await changeSnapshot(events, newest, change);
    const problems = await problemsIn(events);
    expect(problems).toMatchObject([{ stream, problem: { kind: "snapshot", revision: newest } }]);
    expect(problems[0]?.problem?.message).toContain(told);
    await events.snapshots?.deleteAll();
    expect(await problemsIn(events)).toEqual([]);
  });
}

test.each(changes)(
  "names the oldest snapshot that has %s, also once the conversation was opened and written to",
  async (_what, change, told) => {
    const events = await freshStore("memory");
    await talk(events);
    const oldest = (await snapshotsAt(events, stream)).at(-1) ?? -1;
    await changeSnapshot(events, oldest, change);
    const opened = new TurnlogStore(events, { codecs: [], clock: () => 1_772_366_400_000 });
    expect((await opened.conversation("cnv_workshop").at(oldest)).revision).toBe(oldest);
    await opened.conversation("cnv_workshop").append("and then?");
    const fork = await opened.conversation("cnv_workshop").fork(oldest + 1, { id: "cnv_fork" });
    await fork.append("from here", { key: "here" });
    const problems = await problemsIn(events);
    expect(problems).toMatchObject([{ stream, problem: { kind: "snapshot", revision: oldest } }]);
    expect(problems[0]?.problem?.message).toContain(told);
  },
);

test("names a snapshot that has the Turn of an earlier one, of the same length", async () => {
  const events = await freshStore("memory");
  await talk(events);
  const conversation = new TurnlogStore(events).conversation("cnv_workshop");
  const kept = (await conversation.at(-1)).revision;
  const ofLast = async (text: string): Promise<SnapshotData["turn"]> => {
    await conversation.revertTo(kept);
    await conversation.append(text);
    await events.snapshots?.deleteAll();
    await takeSnapshots(events, stream, workOf(1));
    const [newest = -1] = await snapshotsAt(events, stream);
    const digest = (await envelopeAt(events, stream, newest))?.digest ?? "";
    const saved = await snapshotsOf(events).get(snapshotKey(stream), newest);
    return sealedData(saved?.data ?? "", digest)?.turn ?? [];
  };
  const earlier = await ofLast("said in vain");
  expect(await ofLast("said instead")).not.toEqual(earlier);
  expect(await problemsIn(events)).toEqual([]);
  const [newest = -1] = await snapshotsAt(events, stream);
  await changeSnapshot(events, newest, (data) => ({ ...data, turn: earlier }));
  const problems = await problemsIn(events);
  expect(problems).toMatchObject([{ stream, problem: { kind: "snapshot", revision: newest } }]);
  expect(problems[0]?.problem?.message).toContain("its Turn is another");
});

test("names a snapshot that was changed without its seal, which no reader uses", async () => {
  const events = await freshStore("memory");
  await talk(events);
  const [newest = -1] = await snapshotsAt(events, stream);
  await snapshotsOf(events).put(snapshotKey(stream), { revision: newest, data: "{}" });
  expect(await problemsIn(events)).toMatchObject([{ stream, problem: { kind: "snapshot", revision: newest } }]);
});

async function talk(events: EventStore): Promise<void> {
  const { conversation, scripted } = createWorkshop({ events });
  const { engine } = scripted(["one", "two", "three", "four"]);
  for (const text of ["first", "second", "third", "fourth"]) {
    await conversation.append(text);
    await conversation.run(engine);
  }
  await takeSnapshots(events, stream, workOf(7));
}

async function changeSnapshot(events: EventStore, revision: number, change: Change): Promise<void> {
  const digest = (await envelopeAt(events, stream, revision))?.digest ?? "";
  const saved = await snapshotsOf(events).get(snapshotKey(stream), revision);
  const data = sealedData(saved?.data ?? "", digest);
  if (data === null) throw new Error("there is no snapshot");
  const text = snapshotText(await change(data, events), digest);
  await snapshotsOf(events).put(snapshotKey(stream), { revision, data: text });
}

const withFirstDigest = ([[name, length] = ["", 0, ""], ...rest]: SnapshotData["turn"]): SnapshotData["turn"] => [
  [name, length, "0".repeat(64)],
  ...rest,
];

async function swapBlocks(data: SnapshotData, events: EventStore): Promise<SnapshotData> {
  const [[name, length, digest] = ["", 0, ""], ...rest] = data.turn;
  const lines = ((await readList(snapshotsOf(events), { stream, name })) ?? "").split("\n");
  return { ...data, turn: [[await putList(events, lines.reverse().join("\n")), length, digest], ...rest] };
}

async function changedFacts(data: SnapshotData, events: EventStore, change: (text: string) => string) {
  const text = await readList(snapshotsOf(events), { stream, name: data.facts ?? "" });
  return { ...data, facts: await putList(events, change(text ?? "")) };
}

const withoutNames = (text: string): string => text.replace(/"names":\[.*?\]/, '"names":[]');

async function putList(events: EventStore, text: string): Promise<string> {
  const name = snapshotListName(text);
  await snapshotsOf(events).put(listKey({ stream, name }), { revision: 0, data: text });
  return name;
}

async function problemsIn(events: EventStore) {
  const reports: { readonly stream: string; readonly problem: { readonly message: string } | null }[] = [];
  for await (const report of verifyStore(events, { codecs })) if (report.problem !== null) reports.push(report);
  return reports;
}

/** Revisions of the snapshots, the newest first. */
async function snapshotsAt(events: EventStore, name: string): Promise<readonly number[]> {
  const revisions: number[] = [];
  for (let last = Number.MAX_SAFE_INTEGER; ; ) {
    const saved = await snapshotsOf(events).get(snapshotKey(name), last);
    if (saved === null) return revisions;
    revisions.push(saved.revision);
    last = saved.revision - 1;
  }
}

afterAll(() => {
  process.stdout.write(
    `verified: ${tally.snapshots} snapshots of ${tally.conversations} conversations and their forks\n`,
  );
});
