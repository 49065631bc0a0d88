import { afterAll, expect, onTestFinished, test } from "vitest";
import { message, reasoning, startReferenceServer } from "../../../packages/reference-server/src/server.ts";
import type { Conversation } from "../../../src/conversation/conversation.ts";
import { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import { createEngine } from "../../../src/engine/options/create-engine.ts";
import { defineMiddleware } from "../../../src/engine/ports/middleware.ts";
import { ConversationFold } from "../../../src/log/aggregate/conversation-fold.ts";
import { readHistory } from "../../../src/log/history/lineage.ts";
import type { EventStore } from "../../../src/log/ports/event-store.ts";
import { SavedNames } from "../../../src/log/snapshots/names.ts";
import { foldTo } from "../../../src/log/snapshots/open.ts";
import { SnapshotWriter } from "../../../src/log/snapshots/snapshot-writer.ts";
import { openaiResponses } from "../../../src/providers/responses/openai-responses.ts";
import { createMemoryStore } from "../../../src/stores/memory/store.ts";
import { createRequestJudge } from "../../../src/testing/rehearsal/request-judge.ts";
import { isTelling, seeds } from "../../support/cases.ts";
import { createRandom } from "../../support/coherence/random.ts";
import { snapshotsOf } from "../../support/stores/snapshots-of.ts";
import { viewDigest } from "../../support/view-digest.ts";

const tally = { conversations: 0, fromSnapshots: 0, inObjects: 0, wentOn: 0 };

test("a snapshot knows the same of conversation objects as all events do, at every revision, and is continued from", {
  timeout: 3_600_000,
}, async () => {
  for (const seed of seeds(3, 500, 8)) {
    const world = await startWorld(seed);
    await world.talk();
    tally.conversations += 1;
    for (const conversation of world.conversations) {
      const stream = `conversation-${conversation.id}`;
      const digests = await takeSnapshots(world.events, stream, 1 + (seed % 4));
      for (const [revision, digest] of digests) {
        const { view, isWhole } = await foldTo(world.store.log, stream, revision);
        expect(viewDigest(view), `seed ${seed}, ${conversation.id}@${revision}`).toBe(digest);
        if (!isWhole) tally.fromSnapshots += 1;
        if (view.server.objects.size > 0) tally.inObjects += 1;
      }
    }
    await world.goOn();
  }
  if (!isTelling) return;
  expect(tally.fromSnapshots).toBeGreaterThan(100);
  expect(tally.inObjects).toBeGreaterThan(100);
  expect(tally.wentOn).toBeGreaterThan(0);
});

test("an object that is gone is in no snapshot that was taken after it went", async () => {
  const world = await startWorld(0);
  const [conversation] = world.conversations;
  if (conversation === undefined) throw new Error("there is no conversation");
  await world.say(conversation, "conversation");
  await conversation.deleteStored(world.provider);
  await takeSnapshots(world.events, `conversation-${conversation.id}`, 1);
  const { view, isWhole } = await foldTo(world.store.log, `conversation-${conversation.id}`, Number.MAX_SAFE_INTEGER);
  expect([isWhole, view.server.objects.size]).toEqual([false, 0]);
});

/** A conversation in objects, with edits, answers that are lost, other modes, forks, and objects that are deleted. */
async function startWorld(seed: number) {
  const random = createRandom(seed);
  const server = await startReferenceServer({
    answer: ({ request }) => ({ output: [reasoning({ summary: `thought ${request}` }), message(`answer ${request}`)] }),
  });
  onTestFinished(() => server[Symbol.asyncDispose]());
  const events = createMemoryStore();
  const store = new TurnlogStore(events);
  const judge = createRequestJudge(server);
  let hidden = -1;
  const hide = defineMiddleware({ name: "hide", version: "1.0.0" }, (next) => (turn) => {
    const block = hidden < 0 || turn.length < 3 ? undefined : turn.at(hidden);
    return next(block === undefined ? turn : turn.remove(block));
  });
  const provider = openaiResponses({ model: "m", baseURL: server.baseUrl, apiKey: "key", transport: "json" });
  const engine = createEngine({
    ...{ provider, mode: "conversation", middleware: [hide, judge.layer], sleep: async () => undefined },
  });
  const conversations: Conversation[] = [store.conversation()];

  async function say(conversation: Conversation, mode: "chained" | "stateless" | "conversation"): Promise<boolean> {
    await conversation.append("hello");
    try {
      await conversation.run(engine, { mode });
      return true;
    } catch {
      return false;
    }
  }

  return {
    ...{ events, store, conversations, provider, say },
    async talk() {
      for (let n = 0; n < 12; n += 1) {
        const conversation = random.pick(conversations);
        hidden = random.chance(0.2) ? random.below(6) : -1;
        if (random.chance(0.15))
          server.inject(random.chance(0.5) ? { kind: "lost-acknowledgement" } : { kind: "cut", afterBytes: 0 });
        const mode = random.chance(0.8) ? "conversation" : random.pick(["chained", "stateless"] as const);
        await say(conversation, mode);
        if (random.chance(0.1)) conversations.push(await conversation.fork());
        if (random.chance(0.05)) await conversation.deleteStored(provider);
      }
    },
    /** By a process that has only the snapshots to begin with. */
    async goOn() {
      hidden = -1;
      const cold = new TurnlogStore(events);
      for (const { id } of conversations) {
        const object = (await foldTo(cold.log, `conversation-${id}`, Number.MAX_SAFE_INTEGER)).view.server.objects.get(
          provider.scope,
        );
        const before = server.requests.length;
        if (!(await say(cold.conversation(id), "conversation"))) continue;
        const calls = server.requests.slice(before).map(({ method, path }) => `${method} ${path}`);
        if (object?.isKnown === true && calls.length === 1) tally.wentOn += 1;
      }
      expect(judge.incoherences).toEqual([]);
    },
  };
}

/** The digests of the views of a stream's own revisions, which were told to a writer of snapshots one by one. */
async function takeSnapshots(store: EventStore, stream: string, events: number): Promise<ReadonlyMap<number, string>> {
  const { log } = new TurnlogStore(store);
  const fold = new ConversationFold(stream);
  const snapshotWriter = new SnapshotWriter(
    snapshotsOf(store),
    { fold, names: new SavedNames(fold.names) },
    {},
    {
      events,
      edits: 5,
    },
  );
  const digests = new Map<number, string>();
  for await (const event of readHistory(log, stream)) {
    fold.apply(event);
    snapshotWriter.note(event);
    if (event.stream === stream) digests.set(event.revision, viewDigest(fold.view));
  }
  await snapshotWriter.save();
  return digests;
}

afterAll(() => {
  const { conversations, fromSnapshots, inObjects, wentOn } = tally;
  process.stdout.write(
    `objects: ${conversations} conversations, ${fromSnapshots} revisions from a snapshot, ${inObjects} with an object, ${wentOn} objects gone on with\n`,
  );
});
