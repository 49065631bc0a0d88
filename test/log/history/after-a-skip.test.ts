import { describe, expect, test } from "vitest";
import type { Conversation } from "../../../src/conversation/conversation.ts";
import { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import type { ConversationEvent } from "../../../src/domain/events/event.ts";
import type { EventStore } from "../../../src/log/ports/event-store.ts";
import { verification } from "../../../src/operations/audit/verify.ts";
import { codecs } from "../../../src/providers/codecs.ts";
import { scripted } from "../../../src/providers/scripted/scripted.ts";
import { gated } from "../../support/gates.ts";
import { type Damage, damagedCopy, damages } from "../../support/log/damaged-copy.ts";
import { takeSnapshots } from "../../support/log/take-snapshots.ts";
import { replayed } from "../../support/replayed.ts";
import { createWorkshop, dataOf, eventsOf, typesOf, type Workshop } from "../../support/workshop.ts";

const stream = "conversation-cnv_workshop";
const reason = "half written when the disk was full";
const answers = ["one", "two"];

type Talk = { readonly events: EventStore; readonly types: readonly string[]; readonly workshop: Workshop };

/**
 * Two exchanges. While the second answer was made somebody said something more: that event follows from nothing that others need, so that
 * it alone is skipped once it is damaged.
 */
async function talk(): Promise<Talk> {
  const workshop = createWorkshop();
  const { conversation, engine, store } = workshop;
  const provider = gated(answers, (number) => (number === 0 ? undefined : conversation.append("by the way")));
  const running = engine({ provider });
  for (const text of ["first", "second"]) {
    await conversation.append(text);
    await conversation.run(running);
  }
  return { events: store.events, types: typesOf(await eventsOf(conversation)), workshop };
}

/** The place of what was said in between. */
const between = ({ types }: Talk): number => types.lastIndexOf("BlockAppended");

type Skipped = { readonly conversation: Conversation; readonly events: EventStore; readonly revision: number };

/** The same after an event was damaged and skipped, in a process that has just begun. */
async function skippedIn(
  all: Talk,
  damage: Damage,
  { revision = between(all), before }: { readonly revision?: number; readonly before?: number } = {},
): Promise<Skipped> {
  const events = await damagedCopy(all.events, {
    stream,
    revision,
    damage,
    ...(before === undefined ? {} : { before }),
  });
  const opened = () => new TurnlogStore(events, { clock: () => all.workshop.clock.now }).conversation("cnv_workshop");
  const { skipped, damage: left } = await opened().skipEvent(revision, reason);
  expect([skipped, left]).toEqual([[revision], []]);
  return { conversation: opened(), events, revision };
}

const hole = { type: "skipped", by: { kind: "operator" }, reason };

describe.each(Object.entries(damages))("of an event with %s", (_what, damage) => {
  test("events and follow give a hole that says who skipped it and why", async () => {
    const all = await talk();
    const { conversation, revision } = await skippedIn(all, damage);
    const read: [number, unknown][] = [];
    for await (const { revision: at, event } of conversation.events())
      read.push([at, event.type === "skipped" ? event : event.type]);
    const expected = [...all.types, "EventSkipped"].map((type, at) => [
      at,
      at === revision ? { ...hole, skippedAt: all.types.length } : type,
    ]);
    expect(read).toEqual(expected);
    const end = new AbortController();
    const followed: [number, unknown][] = [];
    for await (const { revision: at, event } of conversation.follow(0, end.signal)) {
      followed.push([at, event.type === "skipped" ? event : event.type]);
      if (at === all.types.length) end.abort();
    }
    expect(followed).toEqual(expected);
  });

  test("a walk shows it without a problem, and shows the events that it names with their changes", async () => {
    const all = await talk();
    const { conversation, revision } = await skippedIn(all, damage);
    const walked = [];
    for await (const each of conversation.walk()) walked.push(each);
    expect(walked[revision]).toMatchObject({
      event: null,
      changes: null,
      skipped: { ...skippedBy, skippedAt: all.types.length },
    });
    expect(walked[revision]?.words).toContain(`skipped by operator: ${reason}`);
    const others = walked.filter(({ revision: at }) => at !== revision);
    expect(others.filter(({ skipped, problem }) => skipped !== null || problem !== null)).toEqual([]);
    const bodies = walked.flatMap(({ request }) => (request === null ? [] : [request.bodyText]));
    expect(bodies).toHaveLength(2);
    expect(walked.flatMap(({ changes }) => changes?.added.map(({ block }) => block.text) ?? [])).toEqual([
      "first",
      "one",
      "second",
      "two",
    ]);
  });

  test("blame, Turn, replays, verify and a repeated run go on from the conversation without it", async () => {
    const all = await talk();
    const { conversation, events } = await skippedIn(all, damage);
    const texts = ["first", "one", "second", "two"];
    expect((await conversation.turn()).blocks.map(({ text }) => text)).toEqual(texts);
    const { blocks, removed, changedEvents } = await conversation.blame();
    expect(blocks.map(({ block, made }) => [block.text, made?.actor.kind])).toEqual([
      ...[
        ["first", "user"],
        ["one", "provider"],
        ["second", "user"],
        ["two", "provider"],
      ],
    ]);
    expect({ removed, changedEvents }).toEqual({ removed: [], changedEvents: [] });
    expect((await replayed(new TurnlogStore(events), conversation)).difference).toBeNull();
    const { problems, skipped } = await verification(events, { codecs });
    expect([problems, skipped.length]).toEqual([[], 1]);
    const again = await conversation.run(all.workshop.engine({ provider: scripted([]) }));
    expect([again.text, again.isNew]).toEqual(["two", false]);
  });
});

const skippedBy = { by: { kind: "operator" }, reason };

/** Damage at which readers stopped: of what reads, and does not follow, they took what it says. */
const unreadable = Object.entries(damages).slice(0, 2);

describe.each(unreadable)("of an event with %s", (_what, damage) => {
  test("request, why and reasoning find the request before it, and what was answered after it", async () => {
    const all = await talk();
    const { conversation } = await skippedIn(all, damage);
    const asked = all.types.lastIndexOf("InferenceRequested");
    expect((await conversation.request()).revision).toBe(asked);
    expect((await conversation.request(all.types.lastIndexOf("ResponseReceived"))).revision).toBe(asked);
    expect((await conversation.why()).decision.strategy).toBe("chained");
    const { revision, told } = await conversation.reasoning();
    expect([revision, told]).toEqual([asked, []]);
  });

  test("what servers stored is deleted", async () => {
    const all = await talk();
    const { conversation } = await skippedIn(all, damage);
    const ids = dataOf(await eventsOf(all.workshop.conversation), "ResponseReceived").map(
      ({ responseId }) => responseId,
    );
    const asked: string[] = [];
    const provider = { ...scripted([]), delete: async (id: string) => void asked.push(id) };
    const { deleted } = await conversation.deleteStored(provider);
    expect([ids.length, deleted, asked]).toEqual([2, ids, ids]);
  });

  test("a run that was cut off is taken up", async () => {
    const all = await talk();
    const { conversation } = await skippedIn(all, damage, { before: between(all) + 1 });
    const provider = scripted(() => "two, later");
    const result = await conversation.run(all.workshop.engine({ provider }));
    expect([result.text, result.resumed]).toEqual(["two, later", true]);
    expect((await conversation.turn()).blocks.map(({ text }) => text)).toEqual([
      "first",
      "one",
      "second",
      "two, later",
    ]);
  });

  test("a fork of a conversation whose first event was skipped goes on from the rest, as does a fork of that", async () => {
    const all = await talk();
    const { conversation, events } = await skippedIn(all, damage, { revision: 0 });
    const fork = await conversation.fork();
    expect((await fork.turn()).blocks.map(({ text }) => text)).toEqual(["first", "one", "second", "two", "by the way"]);
    const reopened = new TurnlogStore(events).conversation(fork.id);
    await reopened.append("third");
    const { engine } = all.workshop;
    const provider = scripted(["three"], { prefix: "fork_" });
    expect((await reopened.run(engine({ provider }))).text).toBe("three");
    expect((await reopened.why()).decision.reason).toBe("first-request");
    const second = await new TurnlogStore(events).conversation(fork.id).fork();
    const texts = (await second.turn()).blocks.map(({ text }) => text);
    expect(texts).toEqual(["first", "one", "second", "two", "by the way", "third", "three"]);
    expect((await verification(events, { codecs })).problems).toEqual([]);
  });

  test("what was skipped is known from a snapshot that was taken since", async () => {
    const all = await talk();
    const { conversation, events, revision } = await skippedIn(all, damage);
    await takeSnapshots(events, stream, { events: 3, edits: 5 });
    await conversation.append("third");
    const opened = new TurnlogStore(events).conversation("cnv_workshop");
    const types: string[] = [];
    for await (const { event } of opened.events()) types.push(event.type);
    expect(types[revision]).toBe("skipped");
    expect((await opened.why()).decision.strategy).toBe("chained");
  });
});

test("a skip that is damaged itself skips nothing, until the event is skipped once more", async () => {
  const all = await talk();
  const first = await skippedIn(all, damages["data that is no JSON"]);
  const at = all.types.length;
  const events = await damagedCopy(first.events, { stream, revision: at, damage: damages["a type that nobody knows"] });
  const opened = () => new TurnlogStore(events).conversation("cnv_workshop");
  await opened().skipEvent(first.revision, "once more");
  await opened().skipEvent(at, "and the skip of it");
  const types: ("skipped" | ConversationEvent["type"])[] = [];
  for await (const { event } of opened().events()) types.push(event.type);
  expect(types.flatMap((type, n) => (type === "skipped" ? [n] : []))).toEqual([first.revision, at]);
  expect((await opened().turn()).blocks.map(({ text }) => text)).toEqual(["first", "one", "second", "two"]);
});
