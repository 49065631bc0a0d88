import { expect, test } from "vitest";
import { system } from "../../../src/domain/make-block.ts";
import { anthropic } from "../../../src/providers/anthropic/anthropic.ts";
import { chatCompletions } from "../../../src/providers/chat/chat-completions.ts";
import { cachedProviders } from "../../support/caching/cached-world.ts";
import { erasingWorld, long, without } from "../../support/caching/erasing-world.ts";

// What why says after settings were erased: of contexts what the request recorded, of caches what is certain, or less.
const { chat, messages } = cachedProviders;

test("a context that was given up because of instructions that were erased since is not said to have been given up for another reason", async () => {
  await using world = await erasingWorld(messages);
  const { talk, erase, ask, whyAt, server } = world;
  const options = { model: "m-1", apiKey: "none", baseURL: server.url, threads: true, transport: "json" } as const;
  const threads = anthropic({ ...options, systemAs: "instructions" });
  const chained = { provider: threads, mode: "auto" } as const;
  await talk.append(system(long("Secret")));
  await ask("one", chained);
  await ask("two", { ...chained, middleware: [without("1.0.0", "Secret")] });
  const second = await whyAt();
  await ask("three", chained);
  const third = await whyAt();
  const other = anthropic({ ...options, systemAs: "instructions", instructions: "Be brief." });
  await ask("four", { ...chained, provider: other });
  const fourth = await whyAt();
  const verdictsAt = async (revision: number) => (await whyAt(revision)).candidates.map(({ verdict }) => verdict);
  expect(await verdictsAt(second.revision)).toEqual(["settings-changed"]);
  expect(await verdictsAt(third.revision)).toEqual(["settings-changed", "taken"]);
  expect(await verdictsAt(fourth.revision)).toEqual(["settings-changed", "settings-changed", "continued"]);
  await erase("Secret");
  expect(await verdictsAt(second.revision)).toEqual(["settings-changed"]);
  expect(await verdictsAt(third.revision)).toEqual(["settings-changed", "taken"]);
  // The request recorded the reason against the newest one.
  expect(await verdictsAt(fourth.revision)).toEqual(["settings-changed", "settings-erased", "continued"]);
});

test("a system message is not said to differ from the instructions of an earlier request: on some wires they are one text", async () => {
  await using world = await erasingWorld(chat);
  const { talk, erase, ask, whyAt, server } = world;
  const options = { model: "m-1", apiKey: "none", baseURL: `${server.url}/v1`, dialect: "openai" } as const;
  const sending = (systemAs: "input" | "instructions") => ({
    provider: { ...chatCompletions({ ...options, transport: "json" }), systemAs },
  });
  await talk.append(system(long("Secret")));
  await ask("one", sending("instructions"));
  await ask("two", sending("input"));
  const { revision, cache } = await whyAt();
  expect(cache).toMatchObject({ cause: "read", unit: { path: "messages.2" }, changedSettings: ["instructions"] });
  await erase("Secret");
  const unknown = { cause: "unknown", foreseen: "unknown", against: null, unit: null, author: null, divergence: null };
  expect((await whyAt(revision)).cache).toMatchObject(unknown);
});

test("the first request of an endpoint does not say that it shared nothing with another endpoint, whose settings were erased", async () => {
  await using world = await erasingWorld(chat);
  const { talk, erase, ask, whyAt, server } = world;
  const sending = (baseURL: string, systemAs: "input" | "instructions") => {
    const options = { model: "m-1", apiKey: "none", baseURL, dialect: "openai", transport: "json" } as const;
    return { provider: { ...chatCompletions(options), systemAs } };
  };
  await talk.append(system(long("Secret")));
  await ask("one", sending(`${server.url}/v1`, "instructions"));
  await ask("two", sending(`${server.url.replace("127.0.0.1", "localhost")}/v1`, "input"));
  const { revision, cache } = await whyAt();
  expect(cache).toMatchObject({ foreseen: "other-partition", author: { kind: "settings" } });
  await erase("Secret");
  expect((await whyAt(revision)).cache).toMatchObject({ cause: "unknown", foreseen: "unknown", author: null });
});

test("a response is not said to be an illegal continuation for a request that puts its Turn into an object", async () => {
  await using world = await erasingWorld(cachedProviders.responses);
  const { erase, talk, ask, whyAt } = world;
  const instructions = { provider: { ...world.provider, systemAs: "instructions" } } as const;
  await talk.append(system(long("Secret")));
  await ask("one", { ...instructions, mode: "chained" });
  await ask("two", { mode: "conversation", middleware: [without("1.0.0", "Secret")] });
  const { revision, candidates } = await whyAt();
  expect(candidates.map(({ verdict }) => verdict)).toEqual(["not asked for"]);
  await erase("Secret");
  expect((await whyAt(revision)).candidates).toEqual(candidates);
});
