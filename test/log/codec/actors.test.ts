import { describe, expect, test } from "vitest";
import { commit } from "../../../src/conversation/commit.ts";

import { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import { actorSchema, describeActor } from "../../../src/domain/actor.ts";
import { plainNames } from "../../../src/domain/block-names.ts";
import { blockAppending } from "../../../src/domain/events/blocks-in.ts";
import { checkEnvelope } from "../../../src/log/codec/envelope.ts";
import { erasedLine } from "../../../src/log/codec/lines.ts";
import type { EventStore, StoredEnvelope } from "../../../src/log/ports/event-store.ts";
import { verifyStore } from "../../../src/operations/audit/verify.ts";
import { redactEvent } from "../../../src/operations/transfer/redact.ts";
import { codecs } from "../../../src/providers/codecs.ts";
import { createMemoryStore } from "../../../src/stores/memory/store.ts";
import { said } from "../../support/domain/turn-builders.ts";
import { eventsOf } from "../../support/workshop.ts";

const ada = { kind: "user", name: 'Ada "Zoë" 你好\n' } as const;

async function envelopesOf(store: EventStore, id: string): Promise<readonly StoredEnvelope[]> {
  const envelopes: StoredEnvelope[] = [];
  for await (const envelope of store.readStream(`conversation-${id}`)) envelopes.push(envelope);
  return envelopes;
}

/** What stays when every content line is erased. */
const withoutLines = ({ data, ...rest }: StoredEnvelope): StoredEnvelope => {
  const [facts = "", ...lines] = data.split("\n");
  return { ...rest, data: [facts, ...lines.map(erasedLine)].join("\n") };
};

/** The same with only the last line erased, which has the name. */
const withoutName = ({ data, ...rest }: StoredEnvelope): StoredEnvelope => {
  const lines = data.split("\n");
  return { ...rest, data: [...lines.slice(0, -1), ...lines.slice(-1).map(erasedLine)].join("\n") };
};

const isByPerson = ({ actor }: StoredEnvelope): boolean => "alias" in actor;

describe("a person's name in a conversation in lines", () => {
  test("is in no envelope, and readers get it", async () => {
    await using store = new TurnlogStore(createMemoryStore());
    const conversation = store.conversation("cnv_1");
    await conversation.append("one", { actor: ada });
    await conversation.relabel({ title: "A talk" }, { actor: { kind: "operator", name: "Grace" } });
    await conversation.append("two", { actor: { kind: "user" } });
    for (const envelope of await envelopesOf(store.events, "cnv_1")) {
      expect(JSON.stringify(withoutLines(envelope))).not.toMatch(/Ada|Grace/);
      expect(envelope.actor).not.toHaveProperty("name");
    }
    const actors = (await eventsOf(conversation)).map(({ actor }) => actor);
    expect(actors).toEqual([ada, ada, { kind: "operator", name: "Grace" }, { kind: "user" }]);
  });

  test("is the envelope's own in a conversation written as json", async () => {
    await using store = new TurnlogStore(createMemoryStore(), { encoding: "json" });
    await store.conversation("cnv_1").append("one", { actor: ada });
    for (const { actor } of await envelopesOf(store.events, "cnv_1")) expect(actor).toEqual(ada);
  });

  test("has one alias in a conversation and its forks, and another one elsewhere", async () => {
    await using store = new TurnlogStore(createMemoryStore());
    const conversation = store.conversation("cnv_1");
    await conversation.append("one", { actor: ada });
    await conversation.append("two", { actor: { ...ada, kind: "app" } });
    const fork = await conversation.fork(2, { actor: ada });
    await store.conversation("cnv_2").append("one", { actor: ada });
    const aliasesOf = async (id: string): Promise<ReadonlySet<unknown>> =>
      new Set((await envelopesOf(store.events, id)).map(({ actor }) => ("alias" in actor ? actor.alias : null)));
    const aliases = await aliasesOf("cnv_1");
    expect(aliases.size).toBe(1);
    expect(await aliasesOf(fork.id)).toEqual(aliases);
    expect(await aliasesOf("cnv_2")).not.toEqual(aliases);
    expect(aliases).not.toContain(plainNames.aliasOf(ada.name));
  });

  test("is erased with its line: the chain holds, and the alias says that it was one person", async () => {
    const events = createMemoryStore();
    const whole = new TurnlogStore(events).conversation("cnv_1");
    await whole.append("one", { actor: ada });
    await whole.append("two", { actor: ada });
    const erased: EventStore = {
      ...events,
      async *readStream(stream, options) {
        for await (const envelope of events.readStream(stream, options))
          yield isByPerson(envelope) ? withoutName(envelope) : envelope;
      },
    };
    const read = (await eventsOf(new TurnlogStore(erased).conversation("cnv_1"))).map(({ actor }) => actor);
    expect(new Set(read.map((actor) => JSON.stringify(actor))).size).toBe(1);
    expect(read.map(describeActor).join()).toMatch(/^(user#[0-9a-f]{8},?){3}$/);
    // Nothing ordered it: that is a hole, and the chain holds all the same.
    for await (const { problem } of verifyStore(erased, { codecs })) expect(problem?.kind).toBe("hole");
  });

  test("stays unknown to a conversation that records the alias of another", async () => {
    await using store = new TurnlogStore(createMemoryStore());
    const conversation = store.conversation("cnv_1");
    const erased = actorSchema.parse({ kind: "user", alias: "a".repeat(64) });
    await conversation[commit]([{ event: blockAppending(said(1, "My PIN")), actor: erased }]);
    expect((await eventsOf(conversation)).at(-1)?.actor).toEqual({ kind: "user" });
  });

  test("is in no redacted event, which can be checked against its digest", async () => {
    await using store = new TurnlogStore(createMemoryStore());
    await store.conversation("cnv_1").append("one", { actor: ada });
    let head = null;
    for (const { position: _, ...envelope } of await envelopesOf(store.events, "cnv_1")) {
      const redacted = redactEvent(envelope);
      expect(JSON.stringify(redacted)).not.toContain("Ada");
      const checked = checkEnvelope(head, { ...envelope, data: redacted.data });
      expect([checked.ok, redacted.actor]).toEqual([true, envelope.actor]);
      head = checked.ok ? checked.value : null;
    }
  });
});
