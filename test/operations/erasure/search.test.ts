import { expect, test } from "vitest";
import { startReferenceServer } from "../../../packages/reference-server/src/server.ts";
import { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import { createEngine } from "../../../src/engine/options/create-engine.ts";
import type { ErasingStore } from "../../../src/log/ports/event-store.ts";
import { unfinishedErasures } from "../../../src/log/system-streams/erasures.ts";
import { Fragments } from "../../../src/operations/erasure/fragments.ts";
import { openaiResponses } from "../../../src/providers/responses/openai-responses.ts";
import { createMemoryStore } from "../../../src/stores/memory/store.ts";
import { openSqliteStore } from "../../../src/stores/sqlite/store.ts";
import { isLong } from "../../support/cases.ts";
import { createSecrets } from "../../support/erasure/secrets.ts";
import { temporaryFolder } from "../../support/stores/temporary-folder.ts";

/** Four of each length: where base64 begins depends on it. */
const secretsTried = isLong ? 200 : 40;

const why = { by: "dpo", ground: "gdpr-17" } as const;

const searched = (fragments: Fragments, text: string, pieceBytes: number): number => {
  const search = fragments.search();
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += pieceBytes) search.take(bytes.subarray(at, at + pieceBytes));
  return search.found.size;
};

test("a text is found in the forms in which a store contains it, wherever a file is cut into pieces, and nothing else is", () => {
  const secrets = createSecrets("search");
  for (let times = 0; times < secretsTried; times += 1) secrets.next(times % 10);
  const { all } = secrets;
  const text = (secret: string): string => JSON.stringify({ payload: { arguments: JSON.stringify({ secret }) } });
  for (const [index, secret] of all.entries()) {
    const fragments = new Fragments([secret]);
    const around = `${"other words ".repeat(9)}${text(secret)}${" and more".repeat(9)}`;
    for (const pieceBytes of [1, 7, 64, 10_000]) expect(searched(fragments, around, pieceBytes)).toBeGreaterThan(1);
    expect(searched(new Fragments([`${secret}${index}`.replace("Key", "Lock")]), "nothing of it".repeat(50), 64)).toBe(
      0,
    );
  }
});

test("a finished erasure has searched every file of the store, and says how much it looked for", async () => {
  const store = new TurnlogStore(await openSqliteStore(temporaryFolder().file("turnlog.db")));
  await store.conversation("talk").append("My number is 555-0199, call me at noon.");
  await store.conversation("other").append("My number is 555-0199, says somebody else.");
  const plan = await store.planErasure({ texts: ["call me at noon"] });
  const bytes: number[] = [];
  const { search, finished } = await store.erase(plan, { ...why, onSearch: (count) => bytes.push(count) });
  expect(search).toMatchObject({ texts: 1, tooShort: 0, found: 0, shared: 1 });
  expect(typeof search === "object" && [search.files > 0, search.bytes]).toEqual([true, bytes.at(-1)]);
  expect(finished).toBe(true);
  await store.close();
});

test("what is still in a file is left over, and the receipt is not finished", async () => {
  const events = await openSqliteStore(temporaryFolder().file("turnlog.db"));
  const careless: ErasingStore = {
    ...events,
    [Symbol.asyncDispose]: () => events.close(),
    async *files() {
      yield (async function* () {
        yield Buffer.from("a backup beside it: My number is 555-0199, call me at noon.");
      })();
    },
  };
  const store = new TurnlogStore(careless);
  await store.conversation("talk").append("My number is 555-0199, call me at noon.");
  const receipt = await store.erase(await store.planErasure({ texts: ["call me at noon"] }), why);
  expect(receipt).toMatchObject({ finished: false, search: { found: 2 }, leftOver: [{ place: "file" }] });
  await store.close();
});

test("a search that fails leaves the order unfinished, and nothing readable; continued, it is not searched", async () => {
  const events = await openSqliteStore(temporaryFolder().file("turnlog.db"));
  const failing: ErasingStore = {
    ...events,
    [Symbol.asyncDispose]: () => events.close(),
    // biome-ignore lint/correctness/useYield: it fails before it gives a file.
    async *files() {
      throw new Error("the disk is gone");
    },
  };
  const store = new TurnlogStore(failing);
  await store.conversation("talk").append("My number is 555-0199, call me at noon.");
  const plan = await store.planErasure({ texts: ["call me at noon"] });
  await expect(store.erase(plan, why)).rejects.toThrow("the disk is gone");
  expect((await store.conversation("talk").turn()).at(0)?.isErased).toBe(true);
  const [order] = await unfinishedErasures(events);
  const receipt = await new TurnlogStore(events).resumeErasure(order?.orderId ?? "");
  expect(receipt).toMatchObject({ finished: true, search: "not-searched" });
  await store.close();
});

test("what servers stored is deleted first with a provider, left over without one, and left on purpose with keepStored", async () => {
  await using server = await startReferenceServer();
  const provider = openaiResponses({ model: "m", apiKey: "sk-test", baseURL: server.baseUrl });
  const store = new TurnlogStore(createMemoryStore());
  const erased = async (id: string, options: object) => {
    const talk = store.conversation(id);
    await talk.append(`My number is 555-0199, and I am ${id}.`);
    const { steps } = await talk.run(createEngine({ provider }));
    const plan = await store.planErasure({ texts: [`and I am ${id}`] });
    const receipt = await store.erase(plan, { ...why, ...options });
    const isThere = await provider.retrieve(steps[0]?.responseId ?? "").then(
      () => true,
      () => false,
    );
    return { isThere, finished: receipt.finished, deleted: receipt.provider?.deleted ?? null };
  };
  expect(await erased("one", {})).toEqual({ isThere: true, finished: false, deleted: null });
  expect(await erased("two", { provider })).toEqual({ isThere: false, finished: true, deleted: 1 });
  expect(await erased("three", { provider, keepStored: true })).toEqual({
    isThere: true,
    finished: true,
    deleted: null,
  });
  const talk = store.conversation("two");
  await talk.append("Go on.");
  expect((await talk.run(createEngine({ provider }))).steps[0]?.decision.strategy).toBe("full");
});

test("an order that keeps what servers stored does so when it is continued, and another one lists it as left over", async () => {
  await using server = await startReferenceServer();
  const provider = openaiResponses({ model: "m", apiKey: "sk-test", baseURL: server.baseUrl });
  const events = createMemoryStore();
  const failing: ErasingStore = {
    ...events,
    [Symbol.asyncDispose]: () => events.close(),
    scrub: async () => {
      throw new Error("the process died");
    },
  };
  const store = new TurnlogStore(failing);
  const continued = async (id: string, options: object) => {
    const talk = store.conversation(id);
    await talk.append(`My number is 555-0199, and I am ${id}.`);
    await talk.run(createEngine({ provider }));
    const plan = await store.planErasure({ texts: [`and I am ${id}`] });
    await expect(store.erase(plan, { ...why, ...options })).rejects.toThrow("the process died");
    const orderId = (await unfinishedErasures(events))[0]?.orderId ?? "";
    const after = new TurnlogStore(events);
    const receipts = [await after.resumeErasure(orderId), await after.resumeErasure(orderId)];
    return receipts.map(({ finished, leftOver }) => [finished, ...leftOver.map(({ place }) => place)]);
  };
  expect(await continued("one", { keepStored: true })).toEqual([[true], [true]]);
  expect(await continued("two", {})).toEqual([
    [false, "provider"],
    [false, "provider"],
  ]);
});

test("what is said while a server deletes was not planned, so the erasure is refused", async () => {
  await using server = await startReferenceServer();
  const provider = openaiResponses({ model: "m", apiKey: "sk-test", baseURL: server.baseUrl });
  const events = createMemoryStore();
  const store = new TurnlogStore(events);
  const talk = store.conversation("talk");
  await talk.append("My number is 555-0199, call me at noon.");
  await talk.run(createEngine({ provider }));
  const another = new TurnlogStore({
    ...events,
    append: async (prepared) => {
      const result = await events.append(prepared);
      if (prepared.envelopes.some(({ type }) => type === "ResponseDeleted"))
        await store.conversation("talk").append("Again: call me at noon.");
      return result;
    },
  });
  const plan = await another.planErasure({ texts: ["call me at noon"] });
  await expect(another.erase(plan, { ...why, provider })).rejects.toMatchObject({
    code: "erasure-refused",
    message: expect.stringContaining("plan again") as string,
  });
  expect((await store.conversation("talk").turn()).at(0)?.isErased).toBe(false);
  const again = await another.erase(await another.planErasure({ texts: ["call me at noon"] }), { ...why, provider });
  // Two messages, and the proof of the request that carried the first one.
  expect(again).toMatchObject({ finished: true, done: { lines: 3 } });
  expect((await store.conversation("talk").turn()).blocks.filter(({ isErased }) => isErased)).toHaveLength(2);
});
