import fc from "fast-check";
import { expect, test } from "vitest";
import * as z from "zod";
import {
  functionCall,
  message,
  type Reading,
  type ReferenceServer,
  type ReferenceServerOptions,
  readItems,
  reasoning,
  type ScriptedAnswer,
  startReferenceServer,
} from "../../packages/reference-server/src/server.ts";
import type { Conversation } from "../../src/conversation/conversation.ts";
import { TurnlogStore } from "../../src/conversation/turnlog-store.ts";
import { createEngine } from "../../src/engine/options/create-engine.ts";
import { defineMiddleware } from "../../src/engine/ports/middleware.ts";
import { tool } from "../../src/engine/ports/tool.ts";
import type { EventStore } from "../../src/log/ports/event-store.ts";
import { StoreUnavailableError } from "../../src/log/ports/store-errors.ts";
import { openaiResponses } from "../../src/providers/responses/openai-responses.ts";
import type { OpenaiResponsesOptions } from "../../src/providers/responses/responses-options.ts";
import { scripted } from "../../src/providers/scripted/scripted.ts";
import { createMemoryStore } from "../../src/stores/memory/store.ts";
import { cases } from "../support/cases.ts";
import { dataOf, eventsOf, rejectionOf } from "../support/workshop.ts";

const echo = tool({
  name: "echo",
  description: "",
  inputSchema: z.object({ say: z.string() }),
  execute: ({ say }) => `echo ${say}`,
});

function world(server: ReferenceServer, options: Partial<OpenaiResponsesOptions> = {}) {
  const provider = openaiResponses({ model: "m", apiKey: "sk-test", baseURL: server.baseUrl, ...options });
  const store = new TurnlogStore(createMemoryStore());
  return { provider, store, engine: createEngine({ provider, tools: [echo] }) };
}

const lines = (reading: Reading | undefined) => (reading === undefined ? [] : readItems(reading.items, reading));

/** A conversation of some messages, and the id of its last response. */
async function spoken(
  server: ReferenceServer,
  texts: readonly string[],
  options: Partial<OpenaiResponsesOptions> = {},
) {
  const { store, engine } = world(server, options);
  const conversation = store.conversation();
  for (const text of texts) {
    await conversation.append(text);
    await conversation.run(engine);
  }
  return { conversation, responseId: server.responseIds().at(-1) ?? "" };
}

const withTools: ReferenceServerOptions["answer"] = ({ request }) =>
  request === 0
    ? { output: [reasoning({ summary: "hm" }), functionCall("echo", '{"say":"hi"}', { callId: "call_1" })] }
    : { output: [message(`Answer ${request}.`)] };

test("a conversation whose log was lost is recovered from its last response, and continues from there", async () => {
  await using server = await startReferenceServer({ answer: withTools });
  const { conversation: original, responseId } = await spoken(server, ["one", "two"]);
  const { provider, store, engine } = world(server);
  const { conversation, ...imported } = await store.importResponse(provider, responseId);
  expect(imported).toMatchObject({ responses: server.responseIds(), blocks: 7, isWhole: true, isNew: true });
  const kinds = ({ blocks }: { readonly blocks: readonly { readonly kind: string; readonly text: string }[] }) =>
    blocks.map(({ kind, text }) => `${kind} ${text}`);
  expect(kinds(await conversation.turn())).toEqual(kinds(await original.turn()));
  expect(new Set((await eventsOf(conversation)).map(({ actor }) => actor.kind))).toEqual(new Set(["import"]));
  await conversation.append("three");
  const [step] = (await conversation.run(engine)).steps;
  expect(step?.decision).toMatchObject({ strategy: "chained", anchor: { id: responseId }, changedSettings: [] });
  expect(server.requests.at(-1)?.body).toMatchObject({ input: [{ role: "user" }], previous_response_id: responseId });
  expect((await conversation.verify()).problems).toEqual([]);
});

test("importing the same response again is the same conversation, as far as it has come", async () => {
  await using server = await startReferenceServer();
  const { responseId } = await spoken(server, ["one"]);
  const { provider, store, engine } = world(server);
  const first = await store.importResponse(provider, responseId);
  await first.conversation.append("two");
  await first.conversation.run(engine);
  const before = await eventsOf(first.conversation);
  const again = await store.importResponse(provider, responseId);
  expect([again.isNew, again.conversation.id]).toEqual([false, first.conversation.id]);
  expect(await eventsOf(again.conversation)).toHaveLength(before.length);
  const other = await store.importResponse(provider, responseId, { id: "cnv_another" });
  expect(other).toMatchObject({ isNew: true, conversation: { id: "cnv_another" } });
  expect(await rejectionOf(store.importResponse(provider, responseId, { id: "cnv_another" }))).toMatchObject({
    code: "conversation-exists",
  });
});

/** A store of which one append fails for good. */
function failingAt(failing: number) {
  const events = createMemoryStore();
  const state = { appends: 0, isBroken: true };
  const append: EventStore["append"] = (prepared) => {
    state.appends += 1;
    if (state.isBroken && state.appends >= failing) throw new StoreUnavailableError("the process was cut off");
    return events.append(prepared);
  };
  const store = new TurnlogStore({ ...events, append }, { pause: async () => undefined });
  return { store, state };
}

/** A server with a chain that is too big for one append, and its last response. */
async function bigChain(server: ReferenceServer) {
  const texts = Array.from({ length: 40 }, (_, n) => `${n} ${"a long message, ".repeat(3_500)}`);
  const { provider } = world(server);
  const conversation = world(server).store.conversation();
  for (const text of texts) await conversation.append(text);
  await conversation.run(createEngine({ provider }));
  return { provider, responseId: server.responseIds().at(-1) ?? "" };
}

test("an import that was cut off is finished by the next one, and is what an uninterrupted one is", async () => {
  await using server = await startReferenceServer();
  const { provider, responseId } = await bigChain(server);
  const whole = await world(server).store.importResponse(provider, responseId);
  for (let failing = 2; ; failing += 1) {
    const { store, state } = failingAt(failing);
    const cut = await rejectionOf(store.importResponse(provider, responseId)).catch(() => null);
    if (cut === null) {
      expect(failing).toBeGreaterThan(3);
      return;
    }
    state.isBroken = false;
    const again = await store.importResponse(provider, responseId);
    expect([again.isNew, again.isWhole, again.blocks]).toEqual([true, true, 41]);
    expect(await contentOf(again.conversation)).toEqual(await contentOf(whole.conversation));
    expect(dataOf(await eventsOf(again.conversation), "ContextImported")).toHaveLength(1);
    expect((await store.importResponse(provider, responseId)).isNew).toBe(false);
  }
});

test("an import that was cut off before the conversation continued says that it is not whole", async () => {
  await using server = await startReferenceServer();
  const { provider, responseId } = await bigChain(server);
  const { store, state } = failingAt(3);
  await rejectionOf(store.importResponse(provider, responseId));
  state.isBroken = false;
  const { conversations } = await store.list();
  await store.conversation(conversations[0]?.id ?? "").append("what now?");
  const again = await store.importResponse(provider, responseId);
  expect(again).toMatchObject({ isNew: false, isWhole: false });
  expect(again.lost[0]?.what).toBe("rest");
  const other = await store.importResponse(provider, responseId, { id: "cnv_another" });
  expect(other).toMatchObject({ isNew: true, isWhole: true });
});

test("what the server does not have any more is said, and nothing is continued from what is not whole", async () => {
  await using server = await startReferenceServer();
  const { responseId } = await spoken(server, ["one", "two", "three"]);
  const [first = ""] = server.responseIds();
  server.forget(first);
  const { provider, store, engine } = world(server);
  const { conversation, ...imported } = await store.importResponse(provider, responseId);
  expect(imported).toMatchObject({ isWhole: false, blocks: 4 });
  expect(imported.lost[0]?.what).toBe("earlier");
  expect(imported.lost[0]?.message).toContain(first);
  expect(dataOf(await eventsOf(conversation), "ContextImported")).toEqual([]);
  await conversation.append("four");
  expect((await conversation.run(engine)).steps[0]?.decision).toMatchObject({ strategy: "full", anchor: null });
});

test.each([
  ["is not there", async () => "resp_none", { status: 404 }],
  [
    "is not finished",
    async (server: ReferenceServer) => {
      const body = JSON.stringify({ model: "m", background: true, input: "go" });
      await fetch(`${server.baseUrl}/responses`, { method: "POST", body });
      return server.responseIds()[0] ?? "";
    },
    { kind: "invalid-request", status: null },
  ],
] as const)("a response that %s is no conversation, and nothing is written", async (_, given, failure) => {
  await using server = await startReferenceServer({ answer: () => Promise.withResolvers<ScriptedAnswer>().promise });
  const { provider, store } = world(server);
  expect(await rejectionOf(store.importResponse(provider, await given(server)))).toMatchObject(failure);
  for await (const id of store.conversations()) expect.unreachable(`${id} was written`);
});

/** A provider whose server answers with another text than it sends. */
const answering = (change: (body: string) => string): Partial<OpenaiResponsesOptions> => ({
  transport: "json",
  async fetch(asked, init) {
    const response = await fetch(asked, init);
    return new Response(change(await response.text()), { status: response.status, headers: response.headers });
  },
});

test("reasoning without its ciphertext is reported as lost, and the next request continues at the server that holds it", async () => {
  await using server = await startReferenceServer({ answer: withTools });
  const { responseId } = await spoken(server, ["one"]);
  const bare = answering((body) => body.replaceAll(/"encrypted_content":"[^"]*"/g, '"encrypted_content":null'));
  const { provider, store, engine } = world(server, bare);
  const { conversation, lost, isWhole } = await store.importResponse(provider, responseId);
  expect(lost[0]).toEqual({
    what: "reasoning",
    message: "1 reasoning block came without ciphertext: only the server that made them reads them",
  });
  expect(isWhole).toBe(true);
  await conversation.append("two");
  expect((await conversation.run(engine)).steps[0]?.decision.strategy).toBe("chained");
  const whole = world(server);
  const names = (await whole.store.importResponse(whole.provider, responseId)).lost.map(({ what }) => what);
  expect(names).toEqual(["authors", "edits", "runs", "ids", "settings"]);
});

test("a response that was made in a conversation object says which, and is not continued from", async () => {
  await using server = await startReferenceServer();
  const { provider, store } = world(server);
  const conversation = store.conversation();
  const engine = createEngine({ provider, mode: "conversation" });
  for (const text of ["one", "two"]) {
    await conversation.append(text);
    await conversation.run(engine);
  }
  const [object] = dataOf(await eventsOf(conversation), "ServerConversationChanged").map(({ anchor }) => anchor.id);
  const imported = await world(server).store.importResponse(provider, server.responseIds().at(-1) ?? "");
  expect(imported).toMatchObject({ blocks: 2, isWhole: false });
  expect(imported.lost[0]).toEqual({
    what: "earlier",
    message: `what else is in the conversation object ${object}, which can be imported by its own id`,
  });
});

test("a server that names the version of a model is asked for the model by its name again", async () => {
  await using server = await startReferenceServer({ answer: withTools });
  const { responseId } = await spoken(server, ["one"]);
  const versioned = answering((body) => body.replaceAll('"model":"m"', '"model":"m-2026-03-05"'));
  const { provider, store, engine } = world(server, versioned);
  const { conversation } = await store.importResponse(provider, responseId);
  await conversation.append("two");
  const [step] = (await conversation.run(engine)).steps;
  expect(step?.decision).toMatchObject({ strategy: "chained", changedSettings: [] });
});

test("a response that is incomplete, or holds a secret, is read and not continued from", async () => {
  const token = "a-token-of-ours";
  const answer: ReferenceServerOptions["answer"] = () => ({
    output: [message(`it is ${token}`)],
    status: "incomplete",
    incompleteDetails: { reason: "max_output_tokens" },
  });
  await using server = await startReferenceServer({ answer });
  const { responseId } = await spoken(server, ["one"]);
  const cut = await world(server).store.importResponse(world(server).provider, responseId);
  expect([cut.isWhole, cut.lost[0]?.what]).toEqual([false, "chain"]);
  const { provider, store } = world(server, { secrets: { TOKEN: token } });
  const masked = await store.importResponse(provider, responseId);
  expect([masked.isWhole, masked.lost[0]?.what]).toEqual([false, "secrets"]);
  expect(JSON.stringify(await eventsOf(masked.conversation))).not.toContain(token);
});

test("a provider that stores nothing to be read, and what is no id, are refused", async () => {
  const { store, provider } = world(await startReferenceServer());
  expect(await rejectionOf(store.importResponse(scripted([]), "resp_1"))).toMatchObject({ name: "TypeError" });
  expect(await rejectionOf(store.importResponse(provider, ""))).toMatchObject({ name: "TypeError" });
});

/** A conversation that lives in a conversation object, and the object's id. */
async function spokenInside(server: ReferenceServer, texts: readonly string[]) {
  const { provider, store } = world(server);
  const engine = createEngine({ provider, tools: [echo], mode: "conversation" });
  const conversation = store.conversation();
  for (const text of texts) {
    await conversation.append(text);
    await conversation.run(engine);
  }
  const [made] = dataOf(await eventsOf(conversation), "ServerConversationChanged");
  return { conversation, objectId: made?.anchor.id ?? "" };
}

test("a conversation is had back from a conversation object, which is read and left to those who use it", async () => {
  await using server = await startReferenceServer({ answer: withTools });
  const { conversation: original, objectId } = await spokenInside(server, ["one", "two"]);
  const held = server.conversation(objectId);
  const { provider, store, engine } = world(server);
  const { conversation, lost, ...imported } = await store.importConversation(provider, objectId);
  expect(imported).toEqual({ responses: [], blocks: 7, isWhole: false, isNew: true });
  expect(lost.map(({ what }) => what)).toEqual([
    ...["object", "responses", "authors", "edits", "runs", "ids", "settings"],
  ]);
  const said = ({ blocks }: { readonly blocks: readonly { readonly kind: string; readonly text: string }[] }) =>
    blocks.map(({ kind, text }) => `${kind} ${text}`);
  expect(said(await conversation.turn())).toEqual(said(await original.turn()));
  await conversation.append("three");
  const own = createEngine({ provider, tools: [echo], mode: "conversation" });
  const [step] = (await conversation.run(own)).steps;
  expect(step?.decision).toMatchObject({ strategy: "full", anchor: { kind: "conversation", length: 0 } });
  expect(step?.decision.anchor?.id).not.toBe(objectId);
  expect(server.conversation(objectId)).toEqual(held);
  // The model reads what it would have read in the object, the reasoning too.
  const read = server.reading(step?.responseId ?? "");
  expect(lines(read)).toEqual(
    lines(read === undefined ? undefined : { ...read, items: [...(held ?? []), { role: "user", content: "three" }] }),
  );
  expect(lines(read).some((line) => line.includes("reasoning"))).toBe(true);
  await conversation.append("four");
  expect((await conversation.run(engine)).steps[0]?.decision.strategy).toBe("chained");
  expect((await conversation.verify()).problems).toEqual([]);
});

test("an object that has grown is the conversation that was imported, unless another id asks for it as it is now", async () => {
  await using server = await startReferenceServer();
  const { objectId } = await spokenInside(server, ["one"]);
  const { provider, store } = world(server);
  const first = await store.importConversation(provider, objectId);
  const body = JSON.stringify({ model: "m", conversation: objectId, input: "two" });
  await fetch(`${server.baseUrl}/responses`, { method: "POST", body });
  const again = await store.importConversation(provider, objectId);
  expect([again.isNew, again.conversation.id]).toEqual([false, first.conversation.id]);
  expect(await again.conversation.turn()).toHaveLength(2);
  const other = await store.importConversation(provider, objectId, { id: "cnv_grown" });
  expect(other).toMatchObject({ isNew: true, blocks: 4 });
});

test("an object of many pages is read to its end", async () => {
  await using server = await startReferenceServer();
  const texts = Array.from({ length: 130 }, (_, n) => `text ${n}`);
  const input = texts.map((content) => ({ role: "user", content }));
  const made = await fetch(`${server.baseUrl}/conversations`, { method: "POST", body: "{}" });
  const { id } = z.object({ id: z.string() }).parse(await made.json());
  const body = JSON.stringify({ model: "m", conversation: id, input });
  await fetch(`${server.baseUrl}/responses`, { method: "POST", body });
  const { provider, store } = world(server);
  const { conversation, blocks } = await store.importConversation(provider, id);
  expect(blocks).toBe(131);
  expect((await conversation.turn()).blocks.slice(0, -1).map(({ text }) => text)).toEqual(texts);
});

test("an object that is not there, and a provider that reads none, make no conversation", async () => {
  await using server = await startReferenceServer();
  const { provider, store } = world(server);
  expect(await rejectionOf(store.importConversation(provider, "conv_none"))).toMatchObject({ status: 404 });
  expect(await rejectionOf(store.importConversation(scripted([]), "conv_1"))).toMatchObject({ name: "TypeError" });
  for await (const id of store.conversations()) expect.unreachable(`${id} was written`);
});

/** What a model says in one step of a random conversation. */
const answerOf = (name: string, drawn: { readonly thinks: boolean; readonly calls: number }): ScriptedAnswer => ({
  output: [
    ...(drawn.thinks ? [reasoning({ summary: `thought ${name}` })] : []),
    ...Array.from({ length: drawn.calls }, (_, n) => functionCall("echo", JSON.stringify({ say: `${name} ${n}` }))),
    ...(drawn.calls === 0 ? [message(`said ${name}`)] : []),
  ],
});

test("whatever was said and edited, the model reads after an import what the server holds, and the new message", async () => {
  const step = fc.record({ thinks: fc.boolean(), calls: fc.nat(1) });
  const drawn = fc.record({
    messages: fc.array(fc.array(step, { maxLength: 2 }), { minLength: 1, maxLength: 4 }),
    edited: fc.option(fc.nat(6)),
    listsAncestors: fc.boolean(),
    encryptsAlways: fc.boolean(),
  });
  let chained = 0;
  const numRuns = cases(8, 500, 40);
  await fc.assert(
    fc.asyncProperty(drawn, async ({ messages, edited, ...dialect }) => {
      // Each message is answered by its steps with calls, and one without.
      const steps = messages.flatMap((each) => [
        ...each.map(({ thinks, calls }) => ({ thinks, calls: calls + 1 })),
        { thinks: true, calls: 0 },
      ]);
      const answer: ReferenceServerOptions["answer"] = ({ request }) =>
        answerOf(String(request), steps[request] ?? { thinks: false, calls: 0 });
      await using server = await startReferenceServer({ answer, ...dialect });
      const { provider, store } = world(server);
      const rewrite = defineMiddleware({ name: "rewrite", version: "1.0.0" }, (next) => (turn) => {
        const users = turn.blocks.filter(({ kind }) => kind === "user");
        const target = edited === null ? undefined : users[edited];
        return next(
          target === undefined ? turn : turn.replaceEach([target], (block) => block.withText("another text")),
        );
      });
      const engine = createEngine({ provider, tools: [echo], middleware: [rewrite] });
      const original = store.conversation();
      for (const [index] of messages.entries()) {
        await original.append(`message ${index}`);
        await original.run(engine);
      }
      const responseId = server.responseIds().at(-1) ?? "";
      const lost = world(server);
      const { conversation, isWhole } = await lost.store.importResponse(lost.provider, responseId);
      expect(isWhole).toBe(true);
      await conversation.append("and now?");
      const [last] = (await conversation.run(lost.engine)).steps;
      expect(last?.decision).toMatchObject({ strategy: "chained", anchor: { id: responseId } });
      const held = [...(server.context(responseId) ?? []), { role: "user", content: "and now?" }];
      const read = server.reading(last?.responseId ?? "");
      expect(lines(read)).toEqual(lines(read === undefined ? undefined : { ...read, items: held }));
      // The same Turn, sent whole where nothing is stored, is read alike.
      const whole = createEngine({ provider: lost.provider, tools: [echo], mode: "stateless" });
      const [full] = (await conversation.run(whole, { again: true })).steps;
      const again = server.reading(full?.responseId ?? "");
      const asked = again?.items.slice(0, held.length);
      expect(again === undefined ? [] : readItems(asked ?? [], again)).toEqual(lines(read));
      chained += 1;
    }),
    { numRuns },
  );
  expect(chained).toBe(numRuns);
});

test("whatever was said and edited in an object, the model reads after an import what the object holds, and the new message", async () => {
  const step = fc.record({ thinks: fc.boolean(), calls: fc.nat(2) });
  const drawn = fc.record({
    steps: fc.array(step, { minLength: 1, maxLength: 6 }),
    edited: fc.option(fc.nat(3)),
    encryptsAlways: fc.boolean(),
  });
  await fc.assert(
    fc.asyncProperty(drawn, async ({ steps, edited, ...dialect }) => {
      const answer: ReferenceServerOptions["answer"] = ({ request }) =>
        answerOf(String(request), steps[request] ?? { thinks: true, calls: 0 });
      await using server = await startReferenceServer({ answer, ...dialect });
      const { provider, store } = world(server);
      const rewrite = defineMiddleware({ name: "rewrite", version: "1.0.0" }, (next) => (turn) => {
        const target = turn.blocks.filter(({ kind }) => kind === "user")[edited ?? -1];
        return next(target === undefined ? turn : turn.replace(target, target.withText("another text")));
      });
      const engine = createEngine({ provider, tools: [echo], middleware: [rewrite], mode: "conversation" });
      const original = store.conversation();
      for (const text of ["one", "two", "three"]) {
        await original.append(text);
        await original.run(engine);
      }
      const made = dataOf(await eventsOf(original), "ServerConversationChanged");
      const objectId = made.at(-1)?.anchor.id ?? "";
      const held = [...(server.conversation(objectId) ?? []), { role: "user", content: "and now?" }];
      const lost = world(server);
      const { conversation } = await lost.store.importConversation(lost.provider, objectId);
      await conversation.append("and now?");
      const anew = createEngine({ provider: lost.provider, tools: [echo], mode: "conversation" });
      const [first] = (await conversation.run(anew)).steps;
      const read = server.reading(first?.responseId ?? "");
      expect(lines(read)).toEqual(lines(read === undefined ? undefined : { ...read, items: held }));
    }),
    { numRuns: cases(5, 500, 25) },
  );
});

const contentOf = async (conversation: Conversation): Promise<readonly string[]> =>
  (await conversation.turn()).blocks.map(({ digest }) => digest);
