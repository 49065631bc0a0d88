import { expect, test } from "vitest";
import { message, reasoning, startReferenceServer } from "../../packages/reference-server/src/server.ts";
import { objectsOf } from "../../packages/reference-server/src/wire.ts";
import { accepted, create, idOf, outputOf, send, user } from "../support/reference-server/wire-client.ts";

test("a retrieved response equals the delivered one", async () => {
  await using server = await startReferenceServer();
  const first = await accepted(server, { input: "a", metadata: { k: "v" } });
  expect(await send(server, `/responses/${idOf(first)}`)).toEqual({ status: 200, body: first });
});

test("a retrieve may ask for ciphertexts", async () => {
  await using server = await startReferenceServer({ answer: () => ({ output: [reasoning(), message("a")] }) });
  const first = await accepted(server, { input: "a" });
  const { body } = await send(server, `/responses/${idOf(first)}?include[]=reasoning.encrypted_content`);
  expect(outputOf(body).map((item) => typeof item["encrypted_content"])).toEqual(["string", "undefined"]);
});

test("a deleted response is gone for retrieves and as a parent", async () => {
  await using server = await startReferenceServer();
  const id = idOf(await accepted(server, { input: "a" }));
  const deleted = await send(server, `/responses/${id}`, { method: "DELETE" });
  expect(deleted.body).toEqual({ id, object: "response", deleted: true });
  for (const [path, method] of [
    ["", "GET"],
    ["", "DELETE"],
    ["/input_items", "GET"],
    ["/cancel", "POST"],
  ] as const) {
    expect((await send(server, `/responses/${id}${path}`, { method })).status).toBe(404);
  }
  expect((await create(server, { input: "b", previous_response_id: id })).body["error"]).toMatchObject({
    code: "previous_response_not_found",
  });
});

test("only a background response can be cancelled", async () => {
  await using server = await startReferenceServer();
  const [foreground, background] = [
    await accepted(server, { input: "a" }),
    await accepted(server, { input: "a", background: true }),
  ];
  const cancel = (id: string) => send(server, `/responses/${id}/cancel`, { method: "POST" });
  expect((await cancel(idOf(foreground))).body["error"]).toMatchObject({
    message: "Cannot cancel a synchronous response.",
  });
  expect((await cancel(idOf(background))).status).toBe(200);
});

test("input items are listed newest first, in pages, with ids that stay", async () => {
  await using server = await startReferenceServer();
  const parent = await accepted(server, { input: "before" });
  const texts = ["a", "b", "c", "d"];
  const id = idOf(await accepted(server, { input: texts.map(user), previous_response_id: idOf(parent) }));
  const list = async (query: string) => {
    const { body } = await send(server, `/responses/${id}/input_items${query}`);
    const data = objectsOf(body["data"]);
    return { body, ids: data.map(idOf), texts: data.map((item) => objectsOf(item["content"])[0]?.["text"]) };
  };
  const all = await list("");
  expect(all.texts).toEqual(["d", "c", "b", "a"]);
  expect(all.body).toMatchObject({ object: "list", has_more: false, first_id: all.ids[0], last_id: all.ids[3] });
  expect((await list("?order=asc")).ids).toEqual(all.ids.toReversed());
  const page = await list("?order=asc&limit=2");
  expect([page.texts, page.body["has_more"]]).toEqual([["a", "b"], true]);
  expect((await list("?limit=4")).body["has_more"]).toBe(false);
  expect((await list(`?order=asc&after=${page.ids[1] ?? ""}`)).texts).toEqual(["c", "d"]);
  expect((await list(`?order=asc&before=${page.ids[1] ?? ""}`)).texts).toEqual(["a"]);
  expect((await send(server, `/responses/${id}/input_items?limit=0`)).status).toBe(400);
});

test.each([
  [false, ["b"]],
  [true, ["a", "hello", "b"]],
] as const)(
  "a server may list the earlier context of a response before its own items: %s",
  async (listsAncestors, texts) => {
    await using server = await startReferenceServer({ listsAncestors, answer: () => ({ output: [message("hello")] }) });
    const parent = idOf(await accepted(server, { input: "a" }));
    const id = idOf(await accepted(server, { input: "b", previous_response_id: parent }));
    const { body } = await send(server, `/responses/${id}/input_items?order=asc`);
    expect(objectsOf(body["data"]).map((item) => objectsOf(item["content"])[0]?.["text"])).toEqual(texts);
  },
);

test("a server that compacts does so in the response to a request with more tokens than it says", async () => {
  await using server = await startReferenceServer({ compacts: true });
  const typesFor = async (input: string, compact_threshold: number) =>
    outputOf(await accepted(server, { input, context_management: [{ type: "compaction", compact_threshold }] })).map(
      ({ type }) => type,
    );
  expect(await typesFor("word ".repeat(100), 1_000)).toEqual(["message"]);
  expect(await typesFor("word ".repeat(100), 100)).toEqual(["compaction", "message"]);
  await using other = await startReferenceServer();
  const body = { input: "word ".repeat(100), context_management: [{ type: "compaction", compact_threshold: 100 }] };
  expect(outputOf(await accepted(other, body)).map(({ type }) => type)).toEqual(["message"]);
});
