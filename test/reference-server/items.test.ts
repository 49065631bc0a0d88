import { expect, test } from "vitest";
import {
  compaction,
  functionCall,
  type JsonObject,
  message,
  readItems,
  reasoning,
  type ScriptedItem,
  startReferenceServer,
} from "../../packages/reference-server/src/server.ts";
import {
  accepted,
  create,
  idOf,
  omit,
  outputOf,
  refusedWith,
  textOf,
  toolOutput,
  user,
} from "../support/reference-server/wire-client.ts";

const include = ["reasoning.encrypted_content"];

async function answered(output: readonly ScriptedItem[], body: JsonObject = {}) {
  const server = await startReferenceServer({
    script: [{ output }, ...Array.from({ length: 9 }, () => ({ output: [message("ok")] }))],
  });
  const response = await accepted(server, { input: "go", include, ...body });
  return { server, response, items: outputOf(response), [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

test("an item id is refused twice, within an input and behind the context that holds it", async () => {
  await using at = await answered([message("hi")]);
  const { server, response, items } = at;
  const duplicate = `Duplicate item found with id ${idOf(items[0])}. Remove duplicate items from your input and try again.`;
  expect(await refusedWith(server, { input: [...items, ...items] })).toBe(duplicate);
  expect(await refusedWith(server, { input: items, previous_response_id: idOf(response) })).toBe(duplicate);
  const reference = { type: "item_reference", id: idOf(items[0]) };
  expect(await refusedWith(server, { input: [reference], previous_response_id: idOf(response) })).toBe(duplicate);
  expect(await refusedWith(server, { input: [...items, user("on")] })).toBe("accepted");
});

test("a reference reads as the stored item, and only while it is stored", async () => {
  await using at = await answered([message("hi")]);
  const { server, response, items } = at;
  const reference = { type: "item_reference", id: idOf(items[0]) };
  const second = await accepted(server, { input: [{ id: idOf(items[0]) }, user("on")] });
  expect(server.reading(idOf(second))?.items).toEqual([...items, user("on")]);
  server.forget(idOf(response));
  const { status, body } = await create(server, { input: [reference] });
  expect([status, body["error"]]).toMatchObject([404, { param: "input", code: null }]);
});

test("reasoning without ciphertext is looked up: 404 where its response was not stored", async () => {
  const script = [reasoning({ summary: "s" }), message("hi")];
  for (const [store, expected] of [[true, "accepted"] as const, [false, "Item with id"] as const]) {
    await using at = await answered(script, { store });
    const { server, items } = at;
    const bare = items.map((item) => omit(item, "encrypted_content"));
    expect((await refusedWith(server, { input: bare })).slice(0, expected.length)).toBe(expected);
    expect(await refusedWith(server, { input: items })).toBe("accepted");
  }
});

test("ciphertexts are new in each delivery, verify, and do not survive a changed byte or another item's id", async () => {
  await using at = await answered([reasoning({ summary: "s" }), reasoning(), message("hi")]);
  const { server, response, items } = at;
  const later = outputOf(server.response(idOf(response)) ?? {});
  expect(later[0]?.["encrypted_content"]).not.toBe(items[0]?.["encrypted_content"]);
  const [first = {}, second = {}, answer = {}] = items;
  const refusedFor = (item: JsonObject) =>
    `The encrypted content for item ${idOf(item)} could not be verified. Reason: Encrypted content could not be decrypted or parsed.`;
  // The last letter of base64 has bits that say nothing; a changed one is refused all the same.
  for (const [item, rest] of [[first, [second, answer]] as const, [second, [answer]] as const]) {
    const text = textOf(item["encrypted_content"]);
    const letters = Array.from("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz").filter(
      (letter) => !text.endsWith(letter),
    );
    for (const letter of letters) {
      const changed = { ...item, encrypted_content: text.slice(0, -1) + letter };
      expect(await refusedWith(server, { input: [changed, ...rest] })).toBe(refusedFor(item));
    }
  }
  const swapped = { ...first, encrypted_content: second["encrypted_content"] ?? "" };
  expect(await refusedWith(server, { input: [swapped, second, answer] })).toBe(refusedFor(first));
  expect(
    await refusedWith(server, {
      input: [{ ...first, encrypted_content: later[0]?.["encrypted_content"] ?? "" }, second, answer],
    }),
  ).toBe("accepted");
});

test("ciphertexts come only where they were asked for, or always where the server is set so", async () => {
  for (const [options, expected] of [[{}, undefined] as const, [{ encryptsAlways: true }, "string"] as const]) {
    await using server = await startReferenceServer({
      ...options,
      answer: () => ({ output: [reasoning(), message("hi")] }),
    });
    const [item] = outputOf(await accepted(server, { input: "go" }));
    expect(typeof item?.["encrypted_content"]).toBe(expected ?? "undefined");
  }
});

test("reasoning reads the same with and without its id, and by a fresh ciphertext", async () => {
  await using at = await answered([reasoning({ summary: "s" }), reasoning(), message("hi")]);
  const { server, items } = at;
  const stripped = items.map((item) => omit(item, "id"));
  expect(await refusedWith(server, { input: stripped })).toBe("accepted");
  expect(readItems(server.reading(1)?.items ?? [])).toEqual(readItems(items));
});

test("reasoning needs what followed it", async () => {
  await using at = await answered([reasoning(), message("hi"), functionCall("f", "{}", { callId: "call_x" })]);
  const { server, items } = at;
  const [thought = {}, said = {}, call = {}] = items;
  const missing = `Item '${idOf(thought)}' of type 'reasoning' was provided without its required following item.`;
  const rest = [call, toolOutput("call_x", "o")];
  expect(await refusedWith(server, { input: [thought] })).toBe(missing);
  expect(await refusedWith(server, { input: [thought, user("on")] })).toBe(missing);
  expect(await refusedWith(server, { input: [thought, ...rest] })).toBe(missing);
  expect(await refusedWith(server, { input: [thought, said, ...rest] })).toBe("accepted");
  const withoutIds = [thought, said, ...rest].map((item) => omit(item, "id"));
  expect(await refusedWith(server, { input: withoutIds })).toBe("accepted");
});

test.each([
  ["function_call", functionCall("f", "{}", { callId: "call_x" })],
  ["message", message("hi")],
] as const)("a %s with its id needs its reasoning, without its id it does not", async (type, scripted) => {
  await using at = await answered([reasoning(), scripted]);
  const { server, items } = at;
  const [thought, { id = "", ...bare } = {}] = items;
  const rest = type === "function_call" ? [toolOutput("call_x", "o")] : [];
  const message = `Item '${textOf(id)}' of type '${type}' was provided without its required 'reasoning' item: '${idOf(thought)}'.`;
  expect(await refusedWith(server, { input: [{ id, ...bare }, ...rest] })).toBe(message);
  expect(await refusedWith(server, { input: [{ ...user("a"), id: "msg_1" }, { id, ...bare }, ...rest] })).toBe(message);
  expect(await refusedWith(server, { input: [bare, ...rest] })).toBe("accepted");
  expect(await refusedWith(server, { input: [...items, ...rest] })).toBe("accepted");
});

test("a compaction item is verified like reasoning", async () => {
  await using at = await answered([compaction(), message("hi")], { include: [] });
  const { server, items } = at;
  expect(await refusedWith(server, { input: items })).toBe("accepted");
  const foreign = { type: "compaction", encrypted_content: "gAAAAABelsewhere" };
  expect(await refusedWith(server, { input: [foreign, user("on")] })).toBe(
    "The encrypted content gAAA...here could not be verified.",
  );
});

test("another server's ciphertext is refused", async () => {
  await using one = await answered([reasoning(), message("hi")]);
  await using other = await answered([message("hi")]);
  expect(await refusedWith(one.server, { input: one.items })).toBe("accepted");
  expect(await refusedWith(other.server, { input: one.items })).toMatch(/could not be verified/);
});
