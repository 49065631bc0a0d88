import { afterAll, expect, test } from "vitest";
import type { Conversation } from "../../../src/conversation/conversation.ts";
import { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import { createEngine } from "../../../src/engine/options/create-engine.ts";
import type { EventStore } from "../../../src/log/ports/event-store.ts";
import { readSnapshot } from "../../../src/log/snapshots/snapshot.ts";
import { ConversationWriter } from "../../../src/log/writer/conversation-writer.ts";
import { ConversationDamagedError } from "../../../src/projections/damage.ts";
import { scripted } from "../../../src/providers/scripted/scripted.ts";
import { createMemoryStore } from "../../../src/stores/memory/store.ts";
import { isTelling, seeds } from "../../support/cases.ts";
import { createRandom, type Random } from "../../support/coherence/random.ts";
import { takeSnapshots } from "../../support/log/take-snapshots.ts";
import { lookUpTool, randomConversation } from "../../support/random-conversation.ts";
import { RandomStack } from "../../support/run/random-stack.ts";
import { Truth } from "../../support/truth.ts";
import { viewDigest } from "../../support/view-digest.ts";

const stream = "conversation-cnv_workshop";
const tally = { conversations: 0, skipped: 0, fromSnapshots: 0, chained: 0, requests: 0, again: 0 };

test("a conversation that is opened from a snapshot decides, answers and plans as one that was folded whole", {
  timeout: 3_600_000,
}, async () => {
  for (const seed of seeds(5, 2_000, 30)) {
    const drawn = await randomConversation(seed);
    const random = createRandom(seed + 1_000_000);
    const isDamaged = random.chance(0.5);
    const store = isDamaged ? await damagedStore(drawn.store.events, random) : drawn.store;
    const conversation = store.conversation("cnv_workshop");
    const head = (await store.events.head(stream))?.revision ?? 0;
    if (random.chance(0.4)) await conversation.revertTo(random.below(head + 1));
    const from = random.chance(0.3)
      ? await conversation.fork(random.below(head + 1), { id: "cnv_fork" })
      : conversation;
    if (random.chance(0.5)) await from.append("left unanswered", { key: "left" });
    const opened = await copyOf(store.events);
    const folded: EventStore = withoutSnapshots(await copyOf(store.events));
    for (const name of [stream, `conversation-${from.id}`])
      await takeSnapshots(opened, name, { events: 2 + random.below(12), edits: 5 });
    const label = `seed ${seed}`;
    tally.conversations += 1;
    if ((await readSnapshot(opened, `conversation-${from.id}`, Number.MAX_SAFE_INTEGER)) !== null)
      tally.fromSnapshots += 1;
    expect(await told(opened, from.id), label).toEqual(await told(folded, from.id));
    expect(await goneOn(opened, from.id, seed), label).toEqual(await goneOn(folded, from.id, seed));
  }
  if (!isTelling) return;
  expect(tally.fromSnapshots).toBeGreaterThan(tally.conversations / 2);
  expect(tally.skipped).toBeGreaterThan(tally.conversations / 4);
  expect(tally.chained).toBeGreaterThan(0);
});

test("a revision that was skipped, right after a snapshot, reads as the one before it", async () => {
  const written = new TurnlogStore(createMemoryStore());
  for (const text of ["first", "second", "third"]) await written.conversation("cnv_workshop").append(text);
  const events = await copyOf(written.events, 3);
  const conversation = new TurnlogStore(events).conversation("cnv_workshop");
  await conversation.skipEvent(3, "it cannot be read");
  await takeSnapshots(events, stream, { events: 1, edits: 5 });
  const past = await conversation.at(3);
  expect([past.revision, past.turn.length]).toEqual([2, 2]);
});

/** The same conversation with an event that nobody can read, and what else does not follow then: an operator skips it all. */
async function damagedStore(from: EventStore, random: Random): Promise<TurnlogStore> {
  const head = (await from.head(stream))?.revision ?? 0;
  // Late, because most of what comes after it has to be skipped as well.
  const damaged = head - random.below(Math.min(head, 10));
  const store = new TurnlogStore(await copyOf(from, damaged), { clock: () => 1_772_366_400_000 });
  const conversation = store.conversation("cnv_workshop");
  for (let skips = 0; skips <= head; skips += 1) {
    try {
      await conversation.turn();
      break;
    } catch (error) {
      if (!(error instanceof ConversationDamagedError)) throw error;
      await conversation.skipEvent(error.revision ?? -1, "it cannot be read");
    }
  }
  tally.skipped += 1;
  return store;
}

/** What a writer that has just been opened knows, also of what was long ago. */
async function told(events: EventStore, id: string): Promise<unknown> {
  const store = new TurnlogStore(events);
  const writer = new ConversationWriter(store.log, `conversation-${id}`);
  const view = await writer.refresh();
  const names: unknown[] = [await writer.answeredBy(null)];
  for await (const { event, runId } of store.conversation(id).history()) {
    if (event.type === "BlockAppended") {
      const { block } = event.data;
      names.push(await writer.answeredBy(block.id), await writer.appended(block.id));
      const again = await writer.commit([{ event, actor: { kind: "user" } }]);
      if (again.status !== "committed" || again.events.length > 0) throw new Error(`${block.id} was appended again`);
      tally.again += 1;
    }
    if (event.type === "RunStarted" && view.client.run === null) {
      const { data } = event;
      const started = { type: "RunStarted", version: 1, data } as const;
      names.push(await writer.commit([{ event: started, actor: { kind: "engine" }, runId: runId ?? "" }]));
    }
  }
  const past: unknown[] = [];
  for (let revision = 0; revision <= (writer.head?.revision ?? -1); revision += 1) {
    const { turn, revision: newest } = await store.conversation(id).at(revision);
    past.push([revision, newest, turn.digest]);
  }
  const { lastAt, head, lastRunAt, lastRunRevision } = writer;
  return { names, past, view: viewDigest(view), lastAt, head, lastRunAt, lastRunRevision };
}

/** What is recorded as it goes on: messages, runs with and without layers, a revert, a fork. */
async function goneOn(events: EventStore, id: string, seed: number): Promise<readonly unknown[]> {
  const random = createRandom(seed + 2_000_000);
  let ids = 0;
  const newId = (prefix: string): string => {
    ids += 1;
    return `${prefix}_after${String(ids).padStart(16, "0")}`;
  };
  const clock = { now: 1_772_366_400_000 + 3_600_000 };
  const store = new TurnlogStore(events, { clock: () => clock.now, newId });
  const stack = new RandomStack(random, new Truth(() => 0));
  const run = async (conversation: Conversation): Promise<void> => {
    const provider = scripted(() => stack.answer(), { prefix: `${seed}_${random.below(2)}_` });
    const middleware = random.chance(0.4) ? [stack.layer("layer-0")] : [];
    // With the tool its settings are those that were declared before.
    const tools = random.chance(0.6) ? [lookUpTool(stack)] : [];
    const engine = createEngine({ provider, middleware, tools, newId, clock: () => clock.now, maxSteps: 3 });
    const key = random.chance(0.3) ? { key: "left" } : {};
    await conversation.run(engine, key).catch(() => null);
  };
  const conversation = store.conversation(id);
  await run(conversation);
  await conversation.append("said later");
  await run(conversation);
  const head = (await events.head(`conversation-${id}`))?.revision ?? 0;
  await conversation.revertTo(random.below(head)).catch(() => null);
  await run(conversation);
  const fork = await conversation.fork(random.below(head), { id: "cnv_later" });
  await fork.append("said in the fork", { key: "left" });
  await run(fork);
  const recorded: unknown[] = [];
  for (const each of [conversation, fork]) {
    for await (const { event, revision, at, actor, runId, frame } of each.history()) {
      const text = JSON.stringify({ event, revision, at, actor, runId, frame }, withoutTimings);
      // Which event a fork goes on from is named by a digest in which the random ids of events are.
      if (event.type !== "ConversationStarted") recorded.push(text);
      if (event.type !== "InferenceRequested") continue;
      tally.requests += 1;
      if (event.data.decision.anchor !== null) tally.chained += 1;
    }
  }
  return recorded;
}

/** Layers and tools take their time. */
const withoutTimings = (name: string, value: unknown): unknown =>
  name === "timings" || name === "durationMs" ? null : value;

/** @param damaged - A revision of the conversation at which there is an event of an unknown future. */
async function copyOf(from: EventStore, damaged = -1): Promise<EventStore> {
  const to = createMemoryStore();
  for await (const { position: _, ...envelope } of from.readLog()) {
    const expectedHead = await to.head(envelope.stream);
    const isDamaged = envelope.stream === stream && envelope.revision === damaged;
    const envelopes = [isDamaged ? { ...envelope, version: 9 } : envelope];
    const namingKey = expectedHead === null ? await from.namingKey?.(envelope.stream) : null;
    const key = typeof namingKey === "string" ? { namingKey } : {};
    await to.append({ stream: envelope.stream, expectedHead, envelopes, ...key });
  }
  return to;
}

function withoutSnapshots({ snapshots: _, ...events }: EventStore): EventStore {
  return events;
}

afterAll(() => {
  const { conversations, skipped, fromSnapshots, again, requests, chained } = tally;
  process.stdout.write(
    `opening: ${conversations} conversations, ${skipped} with skipped events, ${fromSnapshots} of them from a snapshot, ${again} blocks appended again, ${requests / 2} requests (${chained / 2} chained)\n`,
  );
});
