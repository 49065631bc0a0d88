import { expect, test } from "vitest";
import { describeCacheCause } from "../../../src/analysis/descriptions/describe-cache.ts";
import { system, user } from "../../../src/domain/make-block.ts";
import { anthropic } from "../../../src/providers/anthropic/anthropic.ts";
import { cachedProviders } from "../../support/caching/cached-world.ts";
import { erasingWorld, long, lookUp, picture, threeTimes, veil, without } from "../../support/caching/erasing-world.ts";

// What why says of requests that were sent before an erasure: what it said then, or less.
const { chat, gemini, messages } = cachedProviders;

test("requests from before the erasure have the verdicts that they had", async () => {
  await using world = await erasingWorld(chat);
  const { talk, erase, ask, whyAt } = world;
  for (const said of threeTimes) await ask(said);
  await ask("four", { middleware: [veil("1.0.0")] });
  const verdicts = async () => {
    const all = [];
    for await (const { event, revision } of talk.events())
      if (event.type === "InferenceRequested") {
        const { cause, author, unit, against, lost } = (await whyAt(revision)).cache;
        all.push({ cause, author, unit, against: against?.revision, lost });
      }
    return all;
  };
  const before = await verdicts();
  expect(before.map(({ cause }) => cause)).toEqual(["first", "read", "read", "changed"]);
  await erase("two");
  expect(await verdicts()).toEqual(before);
});

test("Anthropic's cache depends on whether there are images, and of an erased block it is known whether it had one", async () => {
  await using world = await erasingWorld(messages);
  const { talk, erase, ask, whyAt } = world;
  await ask("one");
  await ask("two");
  await talk.append(picture("Look."));
  await ask("three");
  const { revision, cache } = await whyAt();
  expect(cache).toMatchObject({ cause: "setting-changed", unit: { name: "images" }, author: { kind: "settings" } });
  await erase("Look.");
  expect((await whyAt(revision)).cache).toEqual(cache);
});

test("two blocks that requests sent without some of their parts are not alike once both are erased", async () => {
  await using world = await erasingWorld(messages);
  const { talk, erase, ask, whyAt } = world;
  for (const said of ["Left", "Right"])
    await talk.append(
      user([
        { type: "text", text: long(said) },
        { type: "refusal", refusal: "No." },
      ]),
    );
  await ask("one", { middleware: [without("1.0.0", "Left")] });
  await ask("two", { middleware: [without("1.1.0", "Right")] });
  const { revision, cache, decision } = await whyAt();
  expect(decision.repairs).toMatchObject([{ rule: "omit-parts", index: 0 }]);
  await erase("Left");
  await erase("Right");
  const { cause, unit, author } = (await whyAt(revision)).cache;
  expect({ cause, unit, author }).toEqual({ cause: cache.cause, unit: cache.unit, author: cache.author });
});

test.each(Object.entries(cachedProviders))(
  "%s: what is estimated by bytes, and the cause that follows from it, stays as it was before a long text was erased",
  async (_, wire) => {
    await using world = await erasingWorld(wire);
    const { talk, erase, ask, whyAt } = world;
    const hidden = { tools: [lookUp], middleware: [without("1.0.0", "First")] };
    await talk.append(long("First"));
    await talk.append(long("Second"));
    for (const said of ["one", "two"]) await ask(said, hidden);
    await ask("three", { tools: [lookUp] });
    const { revision, cache } = await whyAt();
    expect(cache).toMatchObject({ cause: "changed", author: { name: "without" }, shared: { isAbout: true } });
    for (const gone of ["First", "Second"]) {
      await erase(gone);
      expect((await whyAt(revision)).cache).toEqual({ ...cache, edit: { ...cache.edit, after: "[erased]" } });
    }
  },
);

test("of a request whose own instructions were erased, why says nothing: of its tools only the names are left, and of no setting the size", async () => {
  await using world = await erasingWorld(messages);
  const { talk, server, erase, ask, whyAt } = world;
  const options = { model: "m-1", apiKey: "none", baseURL: server.url, cache: true, transport: "json" } as const;
  const provider = anthropic({ ...options, systemAs: "instructions" });
  await talk.append([system("Be kind.")]);
  const hidden = { provider, tools: [lookUp], middleware: [without("1.0.0", "Be kind.")] };
  for (const said of ["one", "two"]) await ask(said, hidden);
  await ask("three", { provider, tools: [lookUp] });
  const { revision, cache } = await whyAt();
  expect(cache).toMatchObject({ cause: "changed", unit: { kind: "system" }, author: { kind: "settings" } });
  await erase("Be kind.");
  const unknown = {
    cause: "unknown",
    foreseen: "unknown",
    unit: null,
    author: null,
    against: null,
    changedSettings: [],
  };
  expect((await whyAt(revision)).cache).toMatchObject(unknown);
});

test.each(["its own", "the other's"])(
  "the first request of a conversation read what another one had cached; after %s instructions were erased, why does not say that nobody did",
  async (whose) => {
    await using world = await erasingWorld(gemini);
    const { talk, store, erase, ask, whyAt } = world;
    const [first, second] = [talk, store.conversation()];
    for (const each of [first, second]) {
      await each.append([system(long("Be kind."))]);
      await ask("one", { of: each });
    }
    const { revision, cache } = await whyAt(undefined, second);
    expect(cache).toMatchObject({ cause: "read", against: { stream: `conversation-${first.id}` } });
    await erase("Be kind.", whose === "its own" ? second : first);
    const cause = whose === "its own" ? "unknown" : "more-than-known";
    expect((await whyAt(revision, second)).cache).toMatchObject({ cause, against: null, author: null, lost: null });
    expect(describeCacheCause(cause)).toContain("settings were erased");
  },
);

test("a tool of which an erasure left only the name counts as no changed setting", async () => {
  await using world = await erasingWorld(gemini);
  const { talk, erase, ask, whyAt } = world;
  await talk.append([system(long("Be kind."))]);
  for (const said of ["one", "two"]) await ask(said, { tools: [lookUp], middleware: [without("1.0.0", "Be kind.")] });
  await ask("three", { tools: [lookUp] });
  const { revision, before, decision } = await whyAt();
  expect([before?.changedSettings, decision.cache?.settings]).toEqual([["instructions"], ["instructions"]]);
  await erase("Be kind.");
  expect((await whyAt(revision)).before?.changedSettings).toEqual([]);
  await ask("four", { tools: [lookUp], middleware: [without("1.0.0", "Be kind.")] });
  expect((await whyAt()).decision.cache?.settings).toEqual([]);
});
