import { beforeEach, describe, expect, test } from "vitest";
import { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import { createEngine } from "../../../src/engine/options/create-engine.ts";
import { defineMiddleware } from "../../../src/engine/ports/middleware.ts";
import { scripted } from "../../../src/providers/scripted/scripted.ts";
import { createMemoryStore } from "../../../src/stores/memory/store.ts";

const why = { by: "dpo", ground: "gdpr-17" } as const;

let store: TurnlogStore;
beforeEach(() => {
  store = new TurnlogStore(createMemoryStore());
});

const typesIn = (plan: Awaited<ReturnType<TurnlogStore["planErasure"]>>): readonly string[] =>
  plan.lines.flatMap(({ places }) => places.map(({ type }) => type));

describe("what a plan finds", () => {
  test("a block in every version that a layer wrote, and every request that carried one", async () => {
    const talk = store.conversation("talk");
    const { blocks } = await talk.append("call me at 555-0199, please");
    const mask = defineMiddleware(
      { name: "mask", version: "1" },
      (next) => (turn) =>
        next(turn.with(turn.blocks.map((block) => block.withText(block.text.replace("555", "five"))))),
    );
    await talk.run(createEngine({ provider: scripted(["Fine."]), middleware: [mask] }));
    const plan = await store.planErasure({ blocks: [{ conversation: "talk", block: blocks[0]?.id ?? "" }] });
    expect(typesIn(plan)).toEqual(["BlockAppended", "TurnEdited", "InferenceRequested"]);
    await store.erase(plan, why);
    for await (const { data } of store.events.readStream("conversation-talk"))
      expect(data).not.toContain("-0199, please");
  });

  test("of an event, everything that it says, and the blocks that equal its own", async () => {
    const talk = store.conversation("talk");
    await talk.append("this was said more than once");
    await talk.append("this was not");
    await talk.append("this was said more than once");
    const plan = await store.planErasure({ revisions: [{ conversation: "talk", revision: 1 }] });
    expect(plan.lines[0]?.places.map(({ revision }) => revision)).toEqual([1, 3]);
  });

  test("instructions, with the settings that contain them and the requests that sent those", async () => {
    const talk = store.conversation("talk");
    const provider = scripted(["Fine.", "Good."], {
      settings: { model: "m", instructions: "The customer is Ada Lovelace." },
    });
    for (const text of ["Hello.", "And?"]) {
      await talk.append(text);
      await talk.run(createEngine({ provider }));
    }
    const plan = await store.planErasure({ texts: ["Ada Lovelace"] });
    expect(typesIn(plan)).toEqual(["SettingsDeclared", "InferenceRequested", "InferenceRequested"]);
  });

  test("a text in a long text, across the places where it is cut, with the stream of that text", async () => {
    const talk = store.conversation("talk");
    await talk.append(`${"x".repeat(20 * 1024 - 5)}My number is 555-0199.${"y".repeat(60 * 1024)}`);
    const plan = await store.planErasure({ texts: ["number is 555-0199"], in: ["talk"] });
    expect(plan.lines[0]?.blobs).toHaveLength(1);
    const receipt = await store.erase(plan, why);
    expect(receipt.done.blobEvents).toBeGreaterThan(1);
    for await (const { data } of store.events.readLog()) expect(data).not.toContain("xxxxxxxx");
  });

  test("conversations with the subject's label as a whole, and what the person of that name wrote in others", async () => {
    await store.conversation("own").append("all of this");
    await store.conversation("own").relabel({ labels: { subject: "ada" } });
    const shared = store.conversation("shared");
    await shared.append("I am Ada, and this is mine.", { actor: { kind: "user", name: "ada" } });
    await shared.append("I am Bob, and this stays.", { actor: { kind: "user", name: "bob" } });
    const plan = await store.planErasure({ subject: "ada" });
    expect(plan.conversations.map(({ id }) => id)).toEqual(["own"]);
    expect(plan.lines.map(({ id, places }) => [id, places.map(({ revision }) => revision)])).toEqual([
      ["shared", [0, 1]],
    ]);
    await store.erase(plan, why);
    const left = [];
    for await (const { actor } of store.conversation("shared").events()) left.push(actor);
    expect(JSON.stringify(left)).not.toContain('"ada"');
    expect(JSON.stringify(left)).toContain('"bob"');
  });

  test("what layers made of a person's messages, and nothing that others said and this person restored", async () => {
    const talk = store.conversation("talk");
    const ada = { kind: "user", name: "ada" } as const;
    await talk.append("I am Bob, and this stays.", { actor: { kind: "user", name: "bob" } });
    await talk.append("my street is the long avenue", { actor: ada });
    const shout = defineMiddleware(
      { name: "shout", version: "1" },
      (next) => (turn) => next(turn.with(turn.blocks.map((block) => block.withText(block.text.toUpperCase())))),
    );
    await talk.run(createEngine({ provider: scripted(["Fine."]), middleware: [shout] }));
    await talk.revertTo(2, { actor: ada });
    await store.erase(await store.planErasure({ subject: "ada" }), why);
    expect((await talk.turn()).blocks.map(({ text }) => text)).toEqual(["I am Bob, and this stays.", "[erased]"]);
    for await (const { data } of store.events.readStream("conversation-talk"))
      expect(data.toLowerCase()).not.toContain("long avenue");
  });

  test("forks and the conversations that share their naming key lose the key, and children are searched", async () => {
    const talk = store.conversation("talk");
    const { blocks } = await talk.append("the secret of the parent");
    const fork = await talk.fork();
    const plan = await store.planErasure({ blocks: [{ conversation: fork.id, block: blocks[0]?.id ?? "" }] });
    expect(new Set(plan.lines.map(({ id }) => id))).toEqual(new Set(["talk", fork.id]));
    const keys = async () => [
      await store.events.namingKey?.("conversation-talk"),
      await store.events.namingKey?.(`conversation-${fork.id}`),
    ];
    const before = await keys();
    await store.erase(plan, why);
    const after = await keys();
    expect(before[0]).toBe(before[1]);
    expect(after[0]).toBe(after[1]);
    expect(after[0]).not.toBe(before[0]);
  });

  test("an answer that repeats a long stretch is proposed, and stays", async () => {
    const talk = store.conversation("talk");
    const said = "My number is 555-0199 and my street is the Long Avenue, number 12.";
    const { blocks } = await talk.append(said);
    await talk.run(createEngine({ provider: scripted([`You said: ${said}`]) }));
    const plan = await store.planErasure({ blocks: [{ conversation: "talk", block: blocks[0]?.id ?? "" }] });
    expect(plan.proposed).toMatchObject([{ conversation: "talk", block: (await talk.turn()).at(-1)?.id }]);
    await store.erase(plan, why);
    expect((await talk.turn()).at(-1)?.text).toContain("555-0199");
  });
});

describe("what a plan refuses", () => {
  const code = (options: Parameters<TurnlogStore["planErasure"]>[0]) =>
    store.planErasure(options).then(
      () => "planned",
      (error: unknown) => (error instanceof Error && "code" in error ? error.code : String(error)),
    );

  test("nothing named, nothing found, and options that do not exist or do not fit", async () => {
    await store.conversation("talk").append("a long enough text");
    expect(await code({})).toBe("erasure-refused");
    expect(await code({ texts: ["another long text"] })).toBe("not-found");
    expect(await code({ blocks: [{ conversation: "talk", block: "blk_none" }] })).toBe("not-found");
    expect(await code({ revisions: [{ conversation: "talk", revision: 9 }] })).toBe("erasure-refused");
    expect(await code({ texts: [] })).toMatch(/planErasure: texts is .*: give a list of texts/);
    expect(await code({ subject: "nobody-here" })).toBe("not-found");
  });

  test("a text of less than eight bytes, unless all are meant", async () => {
    await store.conversation("talk").append("yes");
    expect(await code({ texts: ["yes"] })).toBe("erasure-refused");
    expect(await code({ texts: ["yes"], all: true })).toBe("planned");
  });

  test("single lines of a conversation that is written as json", async () => {
    const json = new TurnlogStore(store.events, { encoding: "json" });
    const { blocks } = await json.conversation("old").append("an old and long text");
    expect(await code({ texts: ["an old and long text"] })).toBe("erasure-refused");
    expect(await code({ blocks: [{ conversation: "old", block: blocks[0]?.id ?? "" }] })).toBe("erasure-refused");
    expect(await code({ conversations: ["old"] })).toBe("planned");
    expect(await code({ conversations: ["old"], texts: ["an old and long text"] })).toBe("planned");
  });

  test("all conversations in json that a person wrote in, by name, but for those that are erased as a whole", async () => {
    const json = new TurnlogStore(store.events, { encoding: "json" });
    for (const id of ["old", "older"])
      await json.conversation(id).append("an old and long text", { actor: { kind: "user", name: "ada" } });
    await expect(store.planErasure({ subject: "ada" })).rejects.toThrow(/^old, older are written as json/);
    for (const id of ["old", "older"]) await json.conversation(id).relabel({ labels: { subject: "ada" } });
    expect((await store.planErasure({ subject: "ada" })).conversations.map(({ id }) => id)).toEqual(["old", "older"]);
  });

  test("a conversation that has changed since, and a fork that began since: nothing is erased then", async () => {
    const talk = store.conversation("talk");
    await talk.append("a text that is long enough");
    const planned = await store.planErasure({ texts: ["text that is long"] });
    await talk.append("another one");
    await expect(store.erase(planned, why)).rejects.toMatchObject({ code: "erasure-refused" });
    const again = await store.planErasure({ texts: ["text that is long"] });
    await talk.fork();
    await expect(store.erase(again, why)).rejects.toMatchObject({ code: "erasure-refused" });
    expect((await talk.turn()).at(0)?.isErased).toBe(false);
  });
});
