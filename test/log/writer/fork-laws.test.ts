import { afterAll, expect, test } from "vitest";
import { commit } from "../../../src/conversation/commit.ts";
import type { Conversation } from "../../../src/conversation/conversation.ts";
import { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import { idOf } from "../../../src/domain/block.ts";
import type { ProposedEvent } from "../../../src/domain/events/recorded.ts";
import type { Turn } from "../../../src/domain/turn.ts";
import type { TurnOutline } from "../../../src/domain/turn-outline.ts";
import { ConversationFold } from "../../../src/log/aggregate/conversation-fold.ts";
import { foldWhole } from "../../../src/log/aggregate/fold.ts";
import { readHistory } from "../../../src/log/history/lineage.ts";
import type { EventStore } from "../../../src/log/ports/event-store.ts";
import type { SnapshotStore } from "../../../src/log/ports/snapshot-store.ts";
import { readContents } from "../../../src/log/snapshots/contents.ts";
import { SavedNames } from "../../../src/log/snapshots/names.ts";
import { foldTo } from "../../../src/log/snapshots/open.ts";
import { readSnapshot } from "../../../src/log/snapshots/snapshot.ts";
import { SnapshotWriter } from "../../../src/log/snapshots/snapshot-writer.ts";
import { verifyStore } from "../../../src/operations/audit/verify.ts";
import { codecs } from "../../../src/providers/codecs.ts";
import { scripted } from "../../../src/providers/scripted/scripted.ts";
import { createMemoryStore } from "../../../src/stores/memory/store.ts";
import { isTelling, seeds } from "../../support/cases.ts";
import { createRandom } from "../../support/coherence/random.ts";
import { randomConversation } from "../../support/random-conversation.ts";
import { viewDigest } from "../../support/view-digest.ts";
import { createWorkshop, dataOf, eventsOf, type Workshop } from "../../support/workshop.ts";

const tally = { conversations: 0, forks: 0, inRuns: 0, runs: 0, chained: 0, requests: 0 };

test("a fork of any revision begins with what would be left there, and goes on soundly", {
  timeout: 3_600_000,
}, async () => {
  for (const seed of seeds(8, 300)) {
    const random = createRandom(seed);
    const workshop = await randomConversation(seed);
    const { conversation, store } = workshop;
    tally.conversations += 1;
    const head = (await conversation.at(-1)).revision;
    for (let revision = 0; revision <= head; revision += 1) {
      const label = `seed ${seed}, revision ${revision}`;
      const { run, turn } = await conversation.at(revision);
      const fork = await conversation.fork(revision);
      tally.forks += 1;
      if (run !== null) tally.inRuns += 1;
      expectSame(await fork.turn(), run?.ifEndedHere ?? turn, label);
      expect((await fork.at(0)).run, label).toBeNull();
      if (run !== null) expect(openCallsOf(await fork.turn(), run.id), label).toEqual([]);
      if (random.chance(0.1)) await goOn(fork, { workshop, seed, isForkedAgain: random.chance(0.5) });
    }
    for await (const { stream, problem, requests } of verifyStore(store.events, { codecs })) {
      expect(problem, `seed ${seed}, ${stream}`).toBeNull();
      tally.requests += requests;
    }
  }
  if (!isTelling) return;
  expect(tally.inRuns).toBeGreaterThan(tally.forks / 3);
  expect(tally.chained).toBeGreaterThan(tally.runs / 5);
});

test("a fork folds the same from snapshots of its own or of its parent as from all events", {
  timeout: 3_600_000,
}, async () => {
  let fromSnapshots = 0;
  let revisions = 0;
  for (const seed of seeds(3, 300, 8)) {
    const random = createRandom(seed);
    const workshop = await randomConversation(seed);
    const { conversation, store } = workshop;
    await takeSnapshots(store, conversation, 2 + random.below(20));
    const label = `seed ${seed}`;
    const head = (await conversation.at(-1)).revision;
    const fork = await conversation.fork(random.below(head + 1));
    await goOn(fork, { workshop, seed, isForkedAgain: true });
    if (random.chance(0.5)) await takeSnapshots(store, fork, 1 + random.below(4));
    const second = await fork.fork(random.below((await fork.at(-1)).revision + 1));
    await goOn(second, { workshop, seed, isForkedAgain: false });
    for (const each of [fork, second]) {
      const stream = `conversation-${each.id}`;
      const last = (await each.at(-1)).revision;
      for (let revision = 0; revision <= last; revision += 1) {
        const folded = await foldTo(store.log, stream, revision);
        const whole = await foldWhole(store.log, stream, revision);
        expect(viewDigest(folded.view), `${label}, ${each.id}@${revision}`).toBe(viewDigest(whole.view));
        const past = await each.at(revision);
        expectSame(await past.content(), whole.view.client.committed, `${label}, ${each.id}@${revision}`);
        revisions += 1;
        if (!folded.isWhole) fromSnapshots += 1;
      }
    }
  }
  if (isTelling) expect(fromSnapshots).toBeGreaterThan(revisions / 2);
});

test("a reader takes snapshots of a fork with all that it inherited, from a snapshot of its parent", async () => {
  const { conversation, ...workshop } = createWorkshop();
  const provider = scripted(({ requestNumber }) => `answer ${requestNumber}`);
  const engine = workshop.engine({ provider });
  const { scope } = provider;
  const talk = async (spoken: Conversation, exchanges: number): Promise<void> => {
    for (let n = 0; n < exchanges; n += 1) {
      await spoken.append(`said ${n}`);
      await spoken.run(engine);
    }
  };
  await talk(conversation, 3);
  const [first] = dataOf(await eventsOf(conversation), "ResponseReceived");
  const known: readonly ProposedEvent["event"][] = [
    {
      type: "AnchorInvalidated",
      version: 1,
      data: { scope, anchor: { kind: "response", id: first?.responseId ?? "" }, reason: "deleted" },
    },
    { type: "AnchorInvalidated", version: 1, data: { scope: "another", anchor: null, reason: "refused" } },
    {
      type: "CapabilityLearned",
      version: 1,
      data: { scope: "another", capability: "chain", value: false, reason: "refused" },
    },
    {
      type: "ReasoningQuarantined",
      version: 1,
      data: { scope, blockIds: ["blk_0000000000000001"], reason: "unreadable" },
    },
  ];
  await conversation[commit](known.map((event) => ({ event, actor: { kind: "engine" } })));
  await talk(conversation, 120);
  const fork = await conversation.fork();
  await talk(fork, 120);

  // The same events where nobody has taken snapshots yet.
  const reading = new TurnlogStore(withoutSnapshots(workshop.store.events, createMemoryStore()));
  const [parent, copy] = [conversation.id, fork.id].map((id) => reading.conversation(id));
  if (parent === undefined || copy === undefined) throw new Error("nothing was opened");
  await parent.at(-1);
  const stream = `conversation-${fork.id}`;
  const { revision } = await copy.at(-1);
  const whole = viewDigest((await foldWhole(reading.log, stream, revision)).view);
  const snapshot = await readSnapshot(reading.events, stream, revision);
  expect(snapshot?.revision).toBeGreaterThan(500);
  const folded = await foldTo(reading.log, stream, revision);
  expect([folded.isWhole, viewDigest(folded.view)]).toEqual([false, whole]);
  const { blocks } = folded.view.client.committed;
  await readContents(reading.log, blocks);
  expect(blocks.map(({ text }) => text)).toEqual((await copy.turn()).blocks.map(({ text }) => text));
  const past = await copy.at(revision);
  expect(await past.planFor(provider)).toEqual((await past.load()).planFor(provider));
});

/** Events of one store, snapshots of another. */
function withoutSnapshots(events: EventStore, { snapshots }: EventStore): EventStore {
  return { ...events, ...(snapshots === undefined ? {} : { snapshots }) };
}

type GoingOn = { readonly workshop: Workshop; readonly seed: number; readonly isForkedAgain: boolean };

/** Says something in a fork and has it answered; perhaps forks that again. */
async function goOn(fork: Conversation, { workshop, seed, isForkedAgain }: GoingOn): Promise<void> {
  const label = `seed ${seed}, ${fork.id}`;
  const turn = await fork.turn();
  await fork.append("and then?");
  // The endpoint that answered last: what the parent earned there is continued from, until that is refused.
  const last = (await fork.at(-1)).serverContexts.at(-1)?.scope ?? "";
  const provider = scripted(() => "so it went", { prefix: /prefix=(\w+)/.exec(last)?.[1] ?? "" });
  const after = await (await fork.run(workshop.engine({ provider }))).turn();
  expectSame(after.slice(turn.length), turn, `${label}, what the fork began with`);
  const [asked] = dataOf(await eventsOf(fork), "InferenceRequested");
  tally.runs += 1;
  if (asked?.decision.strategy !== "full") tally.chained += 1;
  if (!isForkedAgain) return;
  const second = await fork.fork();
  expectSame(await second.turn(), await fork.turn(), `${label}, a fork of the fork`);
}

async function takeSnapshots(store: TurnlogStore, conversation: Conversation, events: number): Promise<void> {
  const stream = `conversation-${conversation.id}`;
  const fold = new ConversationFold(stream);
  const snapshotWriter = new SnapshotWriter(
    snapshotsOf(store),
    { fold, names: new SavedNames(fold.names) },
    {},
    {
      events,
      edits: 1_000,
    },
  );
  for await (const event of readHistory(store.log, stream)) {
    fold.apply(event);
    snapshotWriter.note(event);
  }
  await snapshotWriter.save();
}

function snapshotsOf({ events: { snapshots } }: TurnlogStore): SnapshotStore {
  if (snapshots === undefined) throw new Error("the store keeps no snapshots");
  return snapshots;
}

function expectSame(actual: Turn, expected: TurnOutline, label: string): void {
  expect(actual.digest, label).toBe(expected.digest);
  expect(actual.blocks.map(idOf), label).toEqual(expected.blocks.map(({ id }) => id));
}

/** Calls that the run made and nothing answers, wherever layers have moved the results to. */
function openCallsOf(turn: Turn, runId: string): readonly string[] {
  const results = turn.blocks.filter(({ kind }) => kind === "tool_result").map(({ callId }) => callId);
  const open = turn.blocks.filter(({ kind, callId }) => {
    if (kind !== "tool_call") return false;
    const answer = results.indexOf(callId);
    if (answer >= 0) results.splice(answer, 1);
    return answer < 0;
  });
  return open.map(idOf).filter((id) => id.startsWith(runId));
}

afterAll(() => {
  const { conversations, forks, inRuns, runs, chained, requests } = tally;
  process.stdout.write(
    `forks: ${conversations} conversations, ${forks} forks (${inRuns} in runs), ${runs} runs on them (${chained} chained), ${requests} requests rebuilt\n`,
  );
});
