import { expect, onTestFinished, test } from "vitest";
import {
  cannedError,
  type Fault,
  message,
  type ReferenceServer,
  type ReferenceServerOptions,
  readItems,
  reasoning,
  type ScriptedAnswer,
  startReferenceServer,
} from "../../../packages/reference-server/src/server.ts";
import type { EngineConfig } from "../../../src/engine/options/create-engine.ts";
import { defineMiddleware } from "../../../src/engine/ports/middleware.ts";
import { openaiResponses } from "../../../src/providers/responses/openai-responses.ts";
import type { OpenaiResponsesOptions } from "../../../src/providers/responses/responses-options.ts";
import { createWorkshop, dataOf, eventsOf, rejectionOf, type Workshop } from "../../support/workshop.ts";

async function startServer(options: ReferenceServerOptions = {}): Promise<ReferenceServer> {
  const server = await startReferenceServer({ answer: thoughtful, ...options });
  onTestFinished(() => server[Symbol.asyncDispose]());
  return server;
}

const thoughtful = ({ request }: { readonly request: number }): ScriptedAnswer => ({
  output: [reasoning({ summary: `thought ${request}` }), message(`answer ${request}`)],
});

/** Its requests are whole, with the ids of the items that it stores. */
const unchained = { capabilities: { chain: false } };

const plain = ({ request }: { readonly request: number }): ScriptedAnswer => ({
  output: [message(`answer ${request}`)],
});

type Talk = Workshop & { readonly server: ReferenceServer; readonly say: (text: string) => Promise<string> };

/** A conversation with a server: `say` appends a message and runs. */
function talkTo(
  server: ReferenceServer,
  config: Partial<EngineConfig> = {},
  options: Partial<OpenaiResponsesOptions> = {},
): Talk {
  const workshop = createWorkshop();
  const provider = openaiResponses({
    model: "m",
    baseURL: server.baseUrl,
    apiKey: "key",
    transport: "json",
    ...options,
  });
  const engine = workshop.engine({ provider, ...config });
  return {
    ...workshop,
    server,
    async say(text) {
      await workshop.conversation.append(text);
      return (await workshop.conversation.run(engine)).text;
    },
  };
}

const statuses = ({ requests }: ReferenceServer, from = 0): readonly number[] =>
  requests.slice(from).map(({ status }) => status);
const decisions = async ({ conversation }: Talk): Promise<readonly string[]> =>
  dataOf(await eventsOf(conversation), "InferenceRequested").map(
    ({ decision: { strategy, reason } }) => `${strategy} ${reason ?? "newest"}`,
  );
const anchorsSent = ({ requests }: ReferenceServer): readonly boolean[] =>
  requests.map(({ bodyText }) => bodyText.includes('"previous_response_id"'));
const lastReading = (server: ReferenceServer): readonly string[] => {
  const reading = server.reading(server.requests.length - 1);
  return reading === undefined ? [] : readItems(reading.items, reading);
};

test.each(["json", "sse"] as const)(
  "a lost response costs exactly one full resend, recorded as one append (%s)",
  async (transport) => {
    const talk = talkTo(await startServer({ answer: plain }), {}, { transport });
    await talk.say("one");
    await talk.say("two");
    talk.server.forget(talk.server.responseIds().at(-1) ?? "");
    expect(await talk.say("three")).toBe("answer 2");
    expect(statuses(talk.server)).toEqual([200, 200, 400, 200]);
    expect(anchorsSent(talk.server)).toEqual([false, true, true, false]);
    expect(talk.watched.written.at(-2)).toEqual(["InferenceFailed", "AnchorInvalidated", "InferenceRequested"]);
    expect(await decisions(talk)).toEqual(["full first-request", "chained newest", "chained newest", "full refused"]);
    expect(lastReading(talk.server)).toHaveLength(5);
  },
);

test("after the resend the conversation is chained again, from the new response", async () => {
  const talk = talkTo(await startServer({ answer: plain }));
  await talk.say("one");
  talk.server.forget(talk.server.responseIds().at(-1) ?? "");
  await talk.say("two");
  await talk.say("three");
  expect(statuses(talk.server)).toEqual([200, 400, 200, 200]);
  expect((await decisions(talk)).at(-1)).toBe("chained newest");
});

test("a lost response whose reasoning comes back as ciphertext costs one resend all the same", async () => {
  const talk = talkTo(await startServer());
  await talk.say("one");
  talk.server.forget(talk.server.responseIds().at(-1) ?? "");
  expect(await talk.say("two")).toBe("answer 1");
  expect(statuses(talk.server)).toEqual([200, 400, 200]);
});

test("a server that lost everything, keys included, is sent everything that it can still read", async () => {
  const [first, second] = [await startServer({ seed: "first" }), await startServer({ seed: "second" })];
  let now = first;
  // One address, behind which another server stands from some day on.
  const route: typeof fetch = (url, init) =>
    fetch(url instanceof Request ? url : url.toString().replace(first.url, now.url), init);
  const talk = talkTo(first, {}, { fetch: route });
  for (const text of ["one", "two", "three"]) await talk.say(text);
  now = second;
  expect(await talk.say("four")).toBe("answer 0");
  // Lost state, one ciphertext that is named, then another: none of them is readable there.
  expect(statuses(second)).toEqual([400, 400, 400, 200]);
  expect(anchorsSent(second)).toEqual([true, false, false, false]);
  const quarantined = dataOf(await eventsOf(talk.conversation), "ReasoningQuarantined");
  expect(quarantined.map(({ blockIds }) => blockIds.length)).toEqual([1, 2]);
  await talk.say("five");
  expect(statuses(second)).toEqual([400, 400, 400, 200, 200]);
});

test("with onRefused: throw the refusal fails the run, and the next one sends everything", async () => {
  const talk = talkTo(await startServer({ answer: plain }), { chain: { onRefused: "throw" } });
  await talk.say("one");
  talk.server.forget(talk.server.responseIds().at(-1) ?? "");
  expect(await rejectionOf(talk.say("two"))).toMatchObject({ code: "run-failed", kind: "lost-state" });
  expect(statuses(talk.server)).toEqual([200, 400]);
  await talk.say("three");
  expect(statuses(talk.server)).toEqual([200, 400, 200]);
  expect((await decisions(talk)).at(-1)).toBe("full refused");
});

test("with chain.require a request that cannot be chained is not sent", async () => {
  const forget = defineMiddleware(
    { name: "forget", version: "1.0.0" },
    (next) => (turn) => next(turn.filter(({ text }) => text !== "one")),
  );
  const server = await startServer({ answer: plain });
  const talk = talkTo(server, { chain: { require: true } });
  await talk.say("one");
  await talk.say("two");
  const { conversation, ...workshop } = talk;
  const provider = openaiResponses({ model: "m", baseURL: server.baseUrl, apiKey: "key", transport: "json" });
  await conversation.append("three");
  const running = conversation.run(workshop.engine({ provider, chain: { require: true }, middleware: [forget] }));
  expect(await rejectionOf(running)).toMatchObject({ code: "run-failed", kind: "chain-required" });
  expect(statuses(server)).toEqual([200, 200]);
});

test("with chain.require a lost response fails the run", async () => {
  const talk = talkTo(await startServer({ answer: plain }), { chain: { require: true } });
  await talk.say("one");
  talk.server.forget(talk.server.responseIds().at(-1) ?? "");
  expect(await rejectionOf(talk.say("two"))).toMatchObject({ kind: "lost-state" });
  expect(statuses(talk.server)).toEqual([200, 400]);
});

test("a server that ignores the id is found out by its echo, and not chained again", async () => {
  const talk = talkTo(await startServer({ answer: plain, noChain: "ignored" }));
  await talk.say("one");
  await talk.say("two");
  await talk.say("three");
  expect(anchorsSent(talk.server)).toEqual([false, true, false]);
  expect(dataOf(await eventsOf(talk.conversation), "CapabilityLearned")).toMatchObject([
    { capability: "chain", value: false },
  ]);
  expect(lastReading(talk.server)).toHaveLength(5);
});

test.each([
  ["http-detail", "http-detail"],
  ["llama.cpp", "llama.cpp"],
] as const)("a server that refuses to chain (%s) is sent everything from then on", async (_, noChain) => {
  const talk = talkTo(await startServer({ answer: plain, noChain }));
  await talk.say("one");
  await talk.say("two");
  await talk.say("three");
  expect(anchorsSent(talk.server)).toEqual([false, true, false, false]);
  expect(statuses(talk.server).filter((status) => status === 200)).toHaveLength(3);
  expect(dataOf(await eventsOf(talk.conversation), "CapabilityLearned")).toMatchObject([
    { capability: "chain", value: false },
  ]);
});

test("refused ciphertext is quarantined once, and not sent again", async () => {
  const talk = talkTo(await startServer(), { mode: "stateless" });
  await talk.say("one");
  talk.server.inject(cannedError("bad-ciphertext"));
  await talk.say("two");
  await talk.say("three");
  expect(statuses(talk.server)).toEqual([200, 400, 200, 200]);
  const sent = talk.server.requests.map(({ bodyText }) => bodyText.split('"type":"reasoning"').length - 1);
  expect(sent).toEqual([0, 1, 0, 1]);
  expect(dataOf(await eventsOf(talk.conversation), "ReasoningQuarantined")).toHaveLength(1);
});

test("a model that gives no encrypted reasoning is asked for it once", async () => {
  const talk = talkTo(await startServer({ answer: plain }));
  const error = {
    message: "Encrypted content is not supported with this model.",
    type: "invalid_request_error",
    param: "include",
    code: null,
  };
  talk.server.inject({ kind: "answer", status: 400, body: { error } });
  await talk.say("one");
  await talk.say("two");
  expect(statuses(talk.server)).toEqual([400, 200, 200]);
  expect(talk.server.requests.map(({ bodyText }) => bodyText.includes("encrypted_content"))).toEqual([
    true,
    false,
    false,
  ]);
  expect(dataOf(await eventsOf(talk.conversation), "CapabilityLearned")).toMatchObject([
    { capability: "encryptedReasoning", value: false },
  ]);
});

test("items that a server does not find by their ids are sent without", async () => {
  const talk = talkTo(await startServer({ answer: plain }), {}, unchained);
  await talk.say("one");
  talk.server.inject(cannedError("item-not-found"));
  await talk.say("two");
  expect(statuses(talk.server)).toEqual([200, 404, 200]);
  expect(talk.server.requests.map(({ bodyText }) => bodyText.includes('"id":"msg_'))).toEqual([false, true, false]);
});

test.each(["unknown-parameter", "context-too-long"] as const)(
  "a refusal that nothing can mend fails the run at once (%s)",
  async (name) => {
    const talk = talkTo(await startServer({ answer: plain }));
    await talk.say("one");
    talk.server.inject(cannedError(name));
    expect(await rejectionOf(talk.say("two"))).toMatchObject({ code: "run-failed" });
    expect(talk.server.requests).toHaveLength(2);
    expect(await talk.say("again")).toBe("answer 1");
  },
);

test("what was seen of a stream that broke off is kept with the failure", async () => {
  const talk = talkTo(await startServer(), {}, { transport: "sse" });
  talk.server.inject({ kind: "cut", afterBytes: 2_500 });
  const failed = await rejectionOf(talk.say("one"));
  expect(failed).toMatchObject({ code: "run-failed", kind: "stream-cut" });
  const [failure] = dataOf(await eventsOf(talk.conversation), "InferenceFailed");
  expect(failure).toMatchObject({ kind: "stream-cut", outcome: "unknown" });
  expect(await talk.say("two")).toBe("answer 1");
});

test("an answer that names another anchor than was sent is not continued from", async () => {
  const talk = talkTo(await startServer({ answer: plain }));
  talk.server.inject({ kind: "echo", previousResponseId: "resp_of_another" });
  await talk.say("one");
  await talk.say("two");
  expect(anchorsSent(talk.server)).toEqual([false, false]);
  expect((await decisions(talk)).at(-1)).toBe("full suspect");
});

const refusing = (message: string, param: string): Fault => ({
  kind: "answer",
  status: 400,
  body: { error: { message, type: "invalid_request_error", param, code: null } },
});
const learnt = async (talk: Talk) => dataOf(await eventsOf(talk.conversation), "CapabilityLearned");
const noChaining = refusing("Unsupported parameter: previous_response_id", "previous_response_id");
const noCiphertext = refusing("Encrypted content is not supported with this model.", "include");

test.each([
  ["chaining", noChaining, {}],
  ["ids of items", cannedError("item-not-found"), unchained],
  ["encrypted reasoning", noCiphertext, unchained],
] as const)("nothing is learnt of %s while the request is refused without it, too", async (_, refusal, options) => {
  const talk = talkTo(await startServer({ answer: plain }), {}, options);
  await talk.say("one");
  talk.server.inject(refusal, cannedError("context-too-long"));
  expect(await rejectionOf(talk.say("two"))).toMatchObject({ kind: "context-length-exceeded" });
  expect(statuses(talk.server)).toHaveLength(3);
  expect(await learnt(talk)).toEqual([]);
  expect(dataOf(await eventsOf(talk.conversation), "AnchorInvalidated")).toEqual([]);
  await talk.say("three");
  const bodies = talk.server.requests.map(({ bodyText }) => bodyText);
  const carried = /"previous_response_id"|"id":"msg_|encrypted_content/g;
  expect(bodies.at(-1)?.match(carried)?.length).toBe(bodies[1]?.match(carried)?.length);
});

test("what was proved is in one append with the answer that proved it", async () => {
  const talk = talkTo(await startServer({ answer: plain }));
  await talk.say("one");
  talk.server.inject(noChaining);
  await talk.say("two");
  expect(talk.watched.written.at(-2)).toEqual(["InferenceFailed", "InferenceRequested"]);
  expect(talk.watched.written.at(-1)).toEqual([
    ...["AnchorInvalidated", "CapabilityLearned", "ResponseReceived", "RunCompleted"],
  ]);
});

test("a refusal of something else that was to be included teaches nothing, and fails", async () => {
  const include = ["message.input_image.image_url"] as const;
  const talk = talkTo(await startServer({ answer: plain }), {}, { include });
  talk.server.inject(refusing("Invalid value: 'message.input_image.image_url'.", "include[0]"));
  expect(await rejectionOf(talk.say("one"))).toMatchObject({ kind: "invalid-request" });
  expect(await learnt(talk)).toEqual([]);
});

test("that a model gives no encrypted reasoning says nothing of another model", async () => {
  const server = await startServer({ answer: plain });
  const talk = talkTo(server, { mode: "stateless" });
  server.inject(noCiphertext);
  await talk.say("one");
  expect(await learnt(talk)).toMatchObject([{ capability: "encryptedReasoning", model: "m" }]);
  const asked = async (model: string) => {
    const provider = openaiResponses({ model, baseURL: server.baseUrl, apiKey: "key", transport: "json" });
    await talk.conversation.append("go on");
    await talk.conversation.run(talk.engine({ provider, mode: "stateless" }));
    return server.requests.at(-1)?.bodyText.includes("encrypted_content");
  };
  expect([await asked("m"), await asked("other")]).toEqual([false, true]);
});

test("items that were sent without ids teach nothing about ids", async () => {
  const talk = talkTo(await startServer({ answer: plain }), { mode: "stateless" });
  talk.server.inject(cannedError("item-not-found"));
  expect(await rejectionOf(talk.say("one"))).toMatchObject({ kind: "item-not-found" });
  expect(statuses(talk.server)).toEqual([404]);
});

test("a capability that was configured is tried again by the next request, whatever was learnt", async () => {
  const server = await startServer({ answer: plain });
  const talk = talkTo(server);
  await talk.say("one");
  server.inject(noChaining);
  await talk.say("two");
  const provider = openaiResponses({
    ...{ model: "m", baseURL: server.baseUrl, apiKey: "key", transport: "json", capabilities: { chain: true } },
  });
  const engine = talk.engine({ provider });
  const run = async (): Promise<string> => {
    await talk.conversation.append("go on");
    return (await talk.conversation.run(engine)).steps.map(({ decision }) => decision.strategy).join();
  };
  // What was refused is not continued from; what came since is.
  expect([await run(), await run()]).toEqual(["chained", "chained"]);
  server.inject(noChaining);
  expect([await run(), await run()]).toEqual(["full", "chained"]);
  expect(await learnt(talk)).toHaveLength(1);
});
