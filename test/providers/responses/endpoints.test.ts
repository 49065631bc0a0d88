import { expect, test } from "vitest";
import {
  message,
  type ReferenceServerOptions,
  reasoning,
  startReferenceServer,
} from "../../../packages/reference-server/src/server.ts";
import { isJsonList, type JsonObject } from "../../../src/base/json.ts";
import { secretReference as secret } from "../../../src/domain/secret-reference.ts";
import { openaiResponses } from "../../../src/providers/responses/openai-responses.ts";
import type { OpenaiResponsesOptions } from "../../../src/providers/responses/responses-options.ts";
import { ask, failureOf, idOf } from "../../support/providers/inferences.ts";

async function opened(options: ReferenceServerOptions = {}, given: Partial<OpenaiResponsesOptions> = {}) {
  const server = await startReferenceServer(options);
  const provider = openaiResponses({ model: "m", apiKey: "sk-test", baseURL: server.baseUrl, ...given });
  const asked = async (body: JsonObject) =>
    idOf(await ask(provider, { bodyText: JSON.stringify({ model: "m", ...body }) }));
  return { server, provider, asked, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

const users = (...texts: readonly string[]) => texts.map((content) => ({ role: "user", content }));
const textsOf = (items: readonly JsonObject[]) =>
  items.map((item) => /"text":"([^"]*)"/.exec(JSON.stringify(item))?.[1]);

test("a response is retrieved as it is, with what is included by name, also one that failed", async () => {
  const failed = { output: [], status: "failed", error: { code: "server_error", message: "no" } } as const;
  const script = [{ output: [reasoning(), message("hello")] }, failed];
  await using world = await opened({ script });
  const id = await world.asked({ input: "go" });
  const bare = await world.provider.retrieve(id);
  const whole = await world.provider.retrieve(id, { include: ["reasoning.encrypted_content"] });
  expect([bare, whole].map(({ output }) => JSON.stringify(output).includes("encrypted_content"))).toEqual([
    false,
    true,
  ]);
  await failureOf(world.asked({ input: "go" }));
  const refused = await world.provider.retrieve(world.server.responseIds()[1] ?? "");
  expect(refused).toMatchObject({ status: "failed", error: failed.error });
});

test("a deleted response is not there any more, and deleting it again says so", async () => {
  await using world = await opened();
  const id = await world.asked({ input: "go" });
  await world.provider.delete(id);
  for (const gone of [world.provider.retrieve(id), world.provider.delete(id)])
    expect(await failureOf(gone)).toMatchObject({ status: 404, outcome: "rejected" });
});

test("input items come in pages, in either order, after and before an item", async () => {
  await using world = await opened();
  const id = await world.asked({ input: users("a", "b", "c", "d") });
  const list = (...asked: Parameters<typeof world.provider.inputItems>) => world.provider.inputItems(...asked);
  expect(textsOf((await list(id)).items)).toEqual(["d", "c", "b", "a"]);
  const first = await list(id, { order: "asc", limit: 3 });
  expect([textsOf(first.items), first.hasMore]).toEqual([["a", "b", "c"], true]);
  const rest = await list(id, { order: "asc", after: first.lastId ?? "" });
  expect([textsOf(rest.items), rest.hasMore]).toEqual([["d"], false]);
  expect(textsOf((await list(id, { order: "asc", before: first.lastId ?? "" })).items)).toEqual(["a", "b"]);
  expect(await failureOf(list(id, { limit: 1_000 }))).toMatchObject({ status: 400, param: "limit" });
});

test("tokens are counted for the provider's model unless another is named", async () => {
  await using world = await opened({ models: ["m", "n"] });
  const id = await world.asked({ input: "before" });
  const [short, long] = await Promise.all([
    world.provider.countInputTokens({ previous_response_id: id }),
    world.provider.countInputTokens({ model: "n", previous_response_id: id, input: users("and more") }),
  ]);
  expect(short).toBeGreaterThan(0);
  expect(long).toBeGreaterThan(short);
  expect(await failureOf(world.provider.countInputTokens({ model: "x", input: "a" }))).toMatchObject({ status: 400 });
});

test("a compacted window comes as it is, and is where a new chain begins", async () => {
  await using world = await opened();
  const id = await world.asked({ input: users("a", "b") });
  const { object, output } = await world.provider.compact({ previous_response_id: id });
  expect([object, output]).toMatchObject([
    "response.compaction",
    [{ role: "user" }, { role: "user" }, { type: "compaction" }],
  ]);
  const window = isJsonList(output) ? output : [];
  expect(world.server.reading(await world.asked({ input: [...window, ...users("c")] }))?.items).toHaveLength(4);
});

test("secrets are filled in where they are sent, and masked where they come back", async () => {
  const token = "a-token-of-ours";
  await using world = await opened(
    { answer: () => ({ output: [message(`it is ${token}`)] }) },
    { secrets: { TOKEN: token } },
  );
  const id = await world.asked({ input: "go" });
  expect(JSON.stringify(await world.provider.retrieve(id))).toContain("it is [secret TOKEN]");
  await world.asked({ input: `my token is ${token}` });
  const said = world.server.responseIds()[1] ?? "";
  expect(textsOf((await world.provider.inputItems(said)).items)).toEqual(["my token is [secret TOKEN]"]);
  await world.provider.countInputTokens({ input: "a", instructions: secret("TOKEN") });
  expect(world.server.requests.at(-1)?.body).toMatchObject({ instructions: token });
});
