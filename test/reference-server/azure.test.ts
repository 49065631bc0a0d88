import { expect, test } from "vitest";
import { startReferenceServer } from "../../packages/reference-server/src/server.ts";
import { type JsonObject, parseJson } from "../../packages/reference-server/src/wire.ts";
import { framesIn, user } from "../support/reference-server/wire-client.ts";

/** What a server that speaks as Azure says to a request, asked with this key. */
async function asked(body: JsonObject, { key = "right", query = "" } = {}) {
  await using server = await startReferenceServer({
    azure: { keys: ["right"], blocks: "bomb", deployments: ["deployed"] },
  });
  const response = await fetch(`${new URL(server.baseUrl).origin}/openai/v1/responses${query}`, {
    method: "POST",
    headers: key === "" ? {} : { "api-key": key },
    body: JSON.stringify({ model: "deployed", input: "go", ...body }),
  });
  const text = await response.text();
  return { status: response.status, body: body["stream"] === true ? framesIn(text).at(-1) : parseJson(text) };
}

test("a request is answered at Azure's route, with what the filters found, streamed or not", async () => {
  const found = [{ source_type: "prompt" }, { source_type: "completion" }];
  expect(await asked({})).toMatchObject({ status: 200, body: { content_filters: found } });
  expect(await asked({ stream: true })).toMatchObject({ body: { response: { content_filters: found } } });
});

test.each<[string, JsonObject, { readonly key?: string; readonly query?: string }, number, JsonObject]>([
  ["another key", {}, { key: "wrong" }, 401, { code: "401" }],
  ["no key", {}, { key: "" }, 401, { code: "401" }],
  [
    "a version by date",
    {},
    { query: "?api-version=2025-04-01-preview" },
    400,
    { message: "API version not supported" },
  ],
  ["what is not deployed", { model: "other" }, {}, 404, { code: "DeploymentNotFound" }],
  ["background without a store", { background: true, store: false }, {}, 400, { param: "background" }],
  [
    "the id of an item without a store",
    { store: false, input: [{ ...user("go"), type: "message", id: "msg_1" }] },
    {},
    404,
    {
      message:
        "Item with id 'msg_1' not found. Items are not persisted when `store` is set to false. Try again with `store` set to true, or remove this item from your input.",
    },
  ],
  [
    "a prompt that is blocked",
    { input: "a bomb" },
    {},
    400,
    { code: "content_filter", innererror: { content_filter_result: { violence: { filtered: true } } } },
  ],
])("%s is refused", async (_, body, by, status, error) => {
  expect(await asked(body, by)).toMatchObject({ status, body: { error } });
});

test("what is stored may be named, and made in the background", async () => {
  expect(await asked({ input: [{ ...user("go"), type: "message", id: "msg_1" }] })).toMatchObject({ status: 200 });
  expect(await asked({ background: true, store: true })).toMatchObject({ status: 200, body: { status: "queued" } });
});
