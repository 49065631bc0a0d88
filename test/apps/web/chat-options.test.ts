import { expect, test } from "vitest";
import type { ChatOptions } from "../../../src/apps/web/chat-options.ts";
import { type Chat, createChat } from "../../../src/apps/web/create-chat.ts";
import { toNode } from "../../../src/apps/web/to-node.ts";
import { openStore } from "../../../src/conversation/open-store.ts";
import { createEngine } from "../../../src/engine/options/create-engine.ts";
import { scripted } from "../../../src/providers/scripted/scripted.ts";

const ann = { actor: { kind: "user", name: "ann" }, labels: { user: "ann" } } as const;

const post = (chat: Chat, id: string): Promise<Response> =>
  chat.fetch(
    new Request("http://chat.test/api/chat", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ id, messages: [{ id: "m1", role: "user", parts: [{ type: "text", text: "Hi" }] }] }),
    }),
  );

test("a page of the list that begins at no place of it is a bad request, and the next page begins where the first ended", async () => {
  await using store = await openStore("memory:");
  for (const id of ["c1", "c2", "c3"]) {
    const conversation = store.conversation(id);
    await conversation.append("Hi");
    await conversation.relabel({ labels: ann.labels });
  }
  const errors: unknown[] = [];
  const engine = createEngine({ provider: scripted([]) });
  const chat = createChat({ store, engine, access: () => ann, onError: (error) => void errors.push(error) });
  const list = (query: string): Promise<Response> => chat.fetch(new Request(`http://chat.test/api/chat${query}`));
  const elsewhere = (await store.list({ limit: 1, sort: "startedAt" })).next;
  for (const after of ["", "xx", "W10", "bnVsbA", elsewhere]) expect((await list(`?after=${after}`)).status).toBe(400);
  expect(errors).toEqual([]);
  const first = await store.list({ labels: ann.labels, limit: 1 });
  const rest = (await (await list(`?after=${first.next}`)).json()) as {
    readonly conversations: readonly { id: string }[];
  };
  expect([...first.conversations, ...rest.conversations].map(({ id }) => id).sort()).toEqual(["c1", "c2", "c3"]);
});

test("a request that no engine answers is an error of the program, and records no message", async () => {
  await using store = await openStore("memory:");
  const errors: unknown[] = [];
  const options = { store, access: () => ann, onError: (error: unknown) => void errors.push(error) };
  for (const chosen of [undefined, { provider: "main" }]) {
    const chat = createChat({ ...options, engine: () => chosen as never });
    expect((await post(chat, "c1")).status).toBe(500);
  }
  expect(errors.map(String)).toEqual([
    "TypeError: createChat: engine returned undefined: return an engine for every request",
    "TypeError: createChat takes an engine, not an object: make one with createEngine({ provider })",
  ]);
  expect(await store.conversation("c1").head()).toBeNull();
});

test("a misspelt member of what access returns, and a label that is no text, are named", async () => {
  await using store = await openStore("memory:");
  const engine = createEngine({ provider: scripted([]) });
  const messageFor = async (access: object): Promise<string> => {
    const errors: unknown[] = [];
    const onError: ChatOptions["onError"] = (error) => void errors.push(error);
    expect((await post(createChat({ store, engine, access: () => access as never, onError }), "c1")).status).toBe(500);
    return String(errors[0]);
  };
  expect(await messageFor({ ...ann, contxt: 1 })).toContain("access has no option 'contxt': did you mean 'context'?");
  expect(await messageFor({ actor: ann.actor, label: {} })).toContain("did you mean 'labels'?");
  expect(await messageFor({ actor: ann.actor })).toContain("access returned no labels");
  expect(await messageFor({ ...ann, labels: { user: 7 } })).toContain(
    "access returned 7 as the label 'user': return a text",
  );
  expect(await store.conversation("c1").head()).toBeNull();
});

test("toNode refuses a chat in place of its handler", () => {
  expect(() => toNode({ fetch: () => new Response() } as never)).toThrow(/not an object: write toNode\(chat\.fetch\)/);
});
