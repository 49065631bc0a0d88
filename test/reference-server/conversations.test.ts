import OpenAI from "openai";
import { expect, onTestFinished, test } from "vitest";
import {
  functionCall,
  message,
  type ReferenceServer,
  type ReferenceServerOptions,
  readItems,
  startReferenceServer,
} from "../../packages/reference-server/src/server.ts";
import { rejectionOf } from "../support/workshop.ts";

async function start(options: ReferenceServerOptions = {}): Promise<{ server: ReferenceServer; client: OpenAI }> {
  const server = await startReferenceServer({
    answer: ({ request }) => ({ output: [message(`answer ${request}`)] }),
    ...options,
  });
  onTestFinished(() => server[Symbol.asyncDispose]());
  return { server, client: new OpenAI({ baseURL: server.baseUrl, apiKey: "key", maxRetries: 0 }) };
}

const codeOf = (error: unknown): string => (error instanceof OpenAI.APIError ? String(error.code) : "none");

const said = (text: string) => ({ type: "message", role: "user", content: text }) as const;

test("the official client makes, reads, changes and deletes a conversation", async () => {
  const { client } = await start();
  const made = await client.conversations.create({ metadata: { of: "ann" }, items: [said("one")] });
  expect(made).toMatchObject({ id: expect.stringMatching(/^conv_/) as string, object: "conversation" });
  expect(await client.conversations.retrieve(made.id)).toEqual(made);
  expect((await client.conversations.update(made.id, { metadata: { of: "bob" } })).metadata).toEqual({ of: "bob" });
  expect(await client.conversations.delete(made.id)).toEqual({
    ...{ id: made.id, object: "conversation.deleted", deleted: true },
  });
  expect(await rejectionOf(client.conversations.retrieve(made.id))).toMatchObject({
    ...{ status: 404, code: null, error: { message: `Conversation with id '${made.id}' not found.` } },
  });
});

test("its items are created, listed in pages, retrieved and deleted", async () => {
  const { client } = await start();
  const { id } = await client.conversations.create();
  const created = await client.conversations.items.create(id, { items: [said("one"), said("two"), said("three")] });
  const ids = created.data.map((item) => item.id ?? "");
  const listed: string[] = [];
  for await (const item of client.conversations.items.list(id, { limit: 2, order: "asc" })) listed.push(item.id ?? "");
  expect(listed).toEqual(ids);
  expect((await client.conversations.items.list(id)).data.map((item) => item.id)).toEqual(ids.toReversed());
  const [, second = ""] = ids;
  expect(await client.conversations.items.retrieve(second, { conversation_id: id })).toMatchObject({
    ...{ id: second, type: "message", role: "user", status: "completed" },
    content: [{ type: "input_text", text: "two" }],
  });
  expect(await client.conversations.items.delete(second, { conversation_id: id })).toMatchObject({ id });
  expect((await client.conversations.items.list(id)).data).toHaveLength(2);
  expect(await rejectionOf(client.conversations.items.delete(second, { conversation_id: id }))).toMatchObject({
    status: 404,
  });
});

test("input and output enter it together, once the response is complete, and the model reads all of it", async () => {
  const { server, client } = await start();
  const { id } = await client.conversations.create({ items: [said("one")] });
  const inside: number[] = [];
  for (const text of ["two", "three"]) {
    const answer = await client.responses.create({ model: "m", conversation: id, input: text });
    expect(answer.conversation).toEqual({ id });
    inside.push(server.conversation(id)?.length ?? 0);
  }
  expect(inside).toEqual([3, 5]);
  const texts = server.reading(2)?.items.map((item) => JSON.stringify(item["content"]));
  expect(texts).toHaveLength(4);
  server.inject({ kind: "cut", afterBytes: 10 });
  await rejectionOf(client.responses.create({ model: "m", conversation: id, input: "lost" }));
  expect(server.conversation(id)).toHaveLength(5);
});

test("it is refused beside previous_response_id, where it is unknown, with more than 20 items, and while it is busy", async () => {
  const { server, client } = await start({
    async answer({ body }) {
      if (body["input"] !== "slow") return { output: [message("done")] };
      const busy = await rejectionOf(client.responses.create({ model: "m", conversation: id, input: "two" }));
      const changed = await rejectionOf(client.conversations.items.create(id, { items: [said("two")] }));
      return { output: [message([busy, changed].map(codeOf).join())] };
    },
  });
  const { id } = await client.conversations.create();
  const slow = await client.responses.create({ model: "m", conversation: { id }, input: "slow" });
  expect(slow.output_text).toBe("conversation_locked,conversation_locked");
  const both = { model: "m", conversation: id, previous_response_id: slow.id, input: "two" };
  expect(await rejectionOf(client.responses.create(both))).toMatchObject({ code: "mutually_exclusive_parameters" });
  const unknown = client.responses.create({ model: "m", conversation: "conv_x", input: "two" });
  expect(await rejectionOf(unknown)).toMatchObject({ status: 404, code: null, param: null });
  const items = Array.from({ length: 21 }, (_, index) => said(`item ${index}`));
  expect(await rejectionOf(client.conversations.create({ items }))).toMatchObject({ status: 400, param: "items" });
  expect(server.conversation(id)).toHaveLength(2);
});

test("a response that was made in it may be continued from by its id, which leaves it", async () => {
  const { server, client } = await start();
  const { id } = await client.conversations.create();
  const first = await client.responses.create({ model: "m", conversation: id, input: "one" });
  const second = await client.responses.create({ model: "m", previous_response_id: first.id, input: "two" });
  expect(second.conversation ?? null).toBeNull();
  expect(server.reading(second.id)?.items).toHaveLength(3);
  expect(server.conversation(id)).toHaveLength(2);
});

test("an item that takes the place of a deleted one has an id that no other had, also behind a response", async () => {
  const { client } = await start();
  const { id } = await client.conversations.create();
  const ids: string[] = [];
  for (let time = 0; time < 3; time += 1) {
    const { data } = await client.conversations.items.create(id, { items: [said("one"), said("one")] });
    ids.push(...data.map((item) => item.id ?? ""));
    if (time === 1) await client.responses.create({ model: "m", conversation: id, input: "one" });
    for await (const item of client.conversations.items.list(id)) {
      if (!ids.includes(item.id ?? "")) ids.push(item.id ?? "");
      await client.conversations.items.delete(item.id ?? "", { conversation_id: id });
    }
  }
  expect(ids).toHaveLength(8);
  expect(new Set(ids).size).toBe(8);
});

test("a call in it wants its result, and a result whose call was deleted is refused by the next response", async () => {
  const { server, client } = await start({
    script: [
      { output: [functionCall("look", "{}", { callId: "call_1" })] },
      { output: [message("seen")] },
      { output: [message("more")] },
    ],
  });
  const { id } = await client.conversations.create();
  await client.responses.create({ model: "m", conversation: id, input: "look" });
  const early = client.responses.create({ model: "m", conversation: id, input: "and?" });
  expect(await rejectionOf(early)).toMatchObject({
    error: { message: "No tool output found for function call call_1." },
  });
  const result = { type: "function_call_output", call_id: "call_1", output: "nothing" } as const;
  await client.responses.create({ model: "m", conversation: id, input: [result] });
  expect(readItems(server.reading(3)?.items ?? [])).toHaveLength(3);
  const call = server.conversation(id)?.find((item) => item["type"] === "function_call");
  await client.conversations.items.delete(typeof call?.["id"] === "string" ? call["id"] : "", { conversation_id: id });
  expect(await rejectionOf(client.responses.create({ model: "m", conversation: id, input: "and?" }))).toMatchObject({
    error: { message: "No tool call found for function call output with call_id call_1." },
  });
});

test("an endpoint may have no conversations", async () => {
  const { client } = await start({ hasConversations: false });
  expect(await rejectionOf(client.conversations.create())).toMatchObject({ status: 404 });
});
