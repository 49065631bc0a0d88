import { expect, onTestFinished, test } from "vitest";
import {
  message,
  type ReferenceServerOptions,
  reasoning,
  startReferenceServer,
} from "../../../packages/reference-server/src/server.ts";
import { isJsonObject, type JsonObject, parseJson } from "../../../src/base/json.ts";
import { assistant } from "../../../src/domain/make-block.ts";
import { createEngine, defineMiddleware, openStore } from "../../../src/index.ts";
import { anthropic } from "../../../src/providers/anthropic/anthropic.ts";
import type { AnthropicOptions } from "../../../src/providers/anthropic/options.ts";
import { dataOf, eventsOf } from "../../support/workshop.ts";

const beta = { "anthropic-beta": "message-threads-2026-08-12" };
const minutes = 60_000;

async function started(answer?: ReferenceServerOptions["answer"]) {
  const clock = { ms: 0 };
  const server = await startReferenceServer({ seed: "threads", now: () => clock.ms, ...(answer ? { answer } : {}) });
  onTestFinished(() => server[Symbol.asyncDispose]());
  const ask = async (more: object, headers: Record<string, string> = beta): Promise<JsonObject> => {
    const messages = [{ role: "user", content: "Go." }];
    const body = JSON.stringify({ model: "claude-test", max_tokens: 10, messages, ...more });
    const answer = await fetch(`${server.baseUrl}/messages`, { method: "POST", body, headers });
    const told = parseJson(await answer.text());
    return { status: answer.status, ...(isJsonObject(told) ? told : {}) };
  };
  const created = async (more: object = {}) => idIn(await ask({ thread: { type: "create" }, ...more }));
  const continued = (id: string, more: object = {}) =>
    ask({ thread: { type: "continue", previous_message_id: id }, ...more });
  return { server, clock, ask, created, continued };
}

const idIn = ({ id }: JsonObject): string => (typeof id === "string" ? id : "");

const refusal = (code: string, status = 400) => ({ status, error: { details: { error_code: code } } });

test("a message of a thread is continued once, within five minutes, as it was created", async () => {
  const { server, clock, created, continued } = await started();
  const first = await created({ system: "Be brief." });
  expect(await continued(first, { system: "Be brief." })).toMatchObject({ status: 400 });
  expect(await continued(first, { output_config: { effort: "low" } })).toMatchObject(
    refusal("thread_fingerprint_mismatch"),
  );
  clock.ms += 5 * minutes;
  const second = await continued(first);
  expect(second["status"]).toBe(200);
  expect(server.reading(server.requests.length - 1)?.items).toHaveLength(4);
  expect(await continued(first)).toMatchObject(refusal("thread_already_continued"));
  clock.ms += 5 * minutes + 1;
  expect(await continued(idIn(second))).toMatchObject(refusal("thread_not_found", 404));
  expect(await continued("msg_none")).toMatchObject(refusal("thread_not_found", 404));
});

test("while a message is being continued, it is not continued again", async () => {
  const { created, continued } = await started();
  const first = await created();
  const both = await Promise.all([continued(first), continued(first)]);
  expect(both.map(({ status }) => status).toSorted()).toEqual([200, 400]);
});

test("threads go with their beta only, and not with thinking or marks for the cache", async () => {
  const { ask } = await started();
  const thread = { type: "create" };
  expect(await ask({ thread }, {})).toMatchObject({
    status: 400,
    error: { message: "thread: Extra inputs are not permitted" },
  });
  const cache = { type: "ephemeral" };
  const thought = { role: "assistant", content: [{ type: "thinking", thinking: "Hm.", signature: "x" }] };
  const go = { role: "user", content: "Go." };
  for (const more of [
    { thinking: { type: "adaptive" } },
    { cache_control: cache },
    { fallbacks: [] },
    { messages: [go, thought, go] },
  ])
    expect(await ask({ thread, ...more })).toMatchObject(refusal("thread_unsupported_request"));
});

const asked = { model: "claude-test", apiKey: "sk-threads" };

test.each<[string, Partial<AnthropicOptions>]>([
  ["thinking", { thinking: { type: "adaptive" } }],
  ["cache_control", { cache_control: { type: "ephemeral" } }],
  [
    "instructions[0].cache_control",
    { instructions: [{ type: "text", text: "x", cache_control: { type: "ephemeral" } }] },
  ],
])("a provider with threads and %s is refused", (name, options) => {
  expect(() => anthropic({ ...asked, threads: true, ...options })).toThrow(`${name} cannot go with threads`);
});

test("what is said in a row is sent once, and what a fork says, or what comes late, begins a thread of its own", async () => {
  const { server } = await started();
  await using store = await openStore("memory:");
  const conversation = store.conversation();
  const engine = createEngine({
    provider: anthropic({ ...asked, baseURL: server.url, threads: true, instructions: "Be brief." }),
  });
  const threadOf = async (of: typeof conversation, said: string) => {
    await of.append(said);
    await of.run(engine);
    const { body } = server.requests.at(-1) ?? {};
    expect(server.requests.every(({ status }) => status === 200)).toBe(true);
    return isJsonObject(body) && isJsonObject(body["thread"]) ? body["thread"]["type"] : null;
  };
  expect(await threadOf(conversation, "One?")).toBe("create");
  expect(await threadOf(conversation, "Two?")).toBe("continue");
  expect(await threadOf(await conversation.fork(), "Three?")).toBe("create");
  expect(await threadOf(conversation, "Three?")).toBe("continue");
  // A Turn that ends with the model's words is asked on with a word that is in no Turn: nothing goes on from there.
  await conversation.append(assistant("So:"));
  await conversation.run(engine);
  expect(server.requests.at(-1)?.bodyText).toContain("Continue.");
  expect(await threadOf(conversation, "Four?")).toBe("create");
  expect(await conversation.verify()).toMatchObject({ isSound: true });
  await conversation.append("Five?");
  await conversation.run(engine, { mode: "stateless" });
  expect(server.requests.at(-1)?.bodyText).not.toContain('"thread"');
});

/** What was sent of the last requests: how each goes on, and how it was answered. */
const sentTo = ({ requests }: Awaited<ReturnType<typeof started>>["server"]) =>
  requests.map(({ body, status }) => {
    const thread = isJsonObject(body) && isJsonObject(body["thread"]) ? body["thread"]["type"] : "none";
    return `${typeof thread === "string" ? thread : "none"} ${status}`;
  });

/** Says a word of the user otherwise, so that a thread cannot be continued. */
const edit = defineMiddleware({ name: "edit", version: "1.0.0" }, (next) => (turn) => {
  const [first] = turn.blocks;
  return next(first === undefined ? turn : turn.replace(first, first.withText("Otherwise?")));
});

test("a thread that takes no thinking is given up for whole requests, and asked for no more", async () => {
  const { server } = await started(({ request }) => ({
    output: [reasoning({ summary: "Hm." }), message(`${request}.`)],
  }));
  await using store = await openStore("memory:");
  const conversation = store.conversation();
  const provider = anthropic({ ...asked, baseURL: server.url, threads: true, model: "claude-opus-4-8" });
  const say = async (text: string, middleware = [edit].slice(1)) => {
    await conversation.append(text);
    return (await conversation.run(createEngine({ provider, middleware }))).text;
  };
  await say("One?");
  await say("Two?");
  expect(await say("Three?", [edit])).toBe("2.");
  await say("Four?");
  expect(sentTo(server)).toEqual(["create 200", "continue 200", "create 400", "none 200", "none 200"]);
  expect(dataOf(await eventsOf(conversation), "CapabilityLearned")).toMatchObject([
    { capability: "chain", value: false, reason: expect.stringContaining("thinking") as unknown },
  ]);
  expect(await conversation.verify()).toMatchObject({ isSound: true });
});

test.each<[string, (server: Awaited<ReturnType<typeof started>>, id: string) => Promise<unknown>, string]>([
  ["is gone", ({ clock }) => Promise.resolve(Object.assign(clock, { ms: 6 * minutes })), "not-found"],
  ["somebody else has continued", ({ continued }, id) => continued(id), "continued"],
])(
  "a thread that %s is begun anew with everything, and the next request continues that",
  async (_, happens, reason) => {
    const world = await started();
    await using store = await openStore("memory:");
    const conversation = store.conversation();
    const engine = createEngine({ provider: anthropic({ ...asked, baseURL: world.server.url, threads: true }) });
    await conversation.append("One?");
    await conversation.run(engine);
    await happens(world, world.server.requests.at(-1)?.responseId ?? "");
    const before = world.server.requests.length;
    for (const text of ["Two?", "Three?"]) {
      await conversation.append(text);
      await conversation.run(engine);
    }
    const status = reason === "not-found" ? 404 : 400;
    expect(sentTo(world.server).slice(before)).toEqual([`continue ${status}`, "create 200", "continue 200"]);
    expect(dataOf(await eventsOf(conversation), "AnchorInvalidated")).toMatchObject([{ reason }]);
    expect(dataOf(await eventsOf(conversation), "CapabilityLearned")).toEqual([]);
  },
);
