import fc from "fast-check";
import { expect, test } from "vitest";
import * as z from "zod";
import { TurnlogStore } from "../../src/conversation/turnlog-store.ts";
import { createEngine } from "../../src/engine/stack/create-engine.ts";
import { defineMiddleware } from "../../src/engine/stack/middleware.ts";
import { tool } from "../../src/engine/stack/tool.ts";
import { type OpenaiResponsesOptions, openaiResponses } from "../../src/providers/openai-responses.ts";
import { scripted } from "../../src/providers/scripted.ts";
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
} from "../../src/reference-server/server.ts";
import { createMemoryStore } from "../../src/stores/memory/store.ts";
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

test("a conversation whose log was lost is had back from its last response, and goes on from there", async () => {
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
    { numRuns: 40 },
  );
  expect(chained).toBe(40);
});
