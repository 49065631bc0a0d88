import { expect, onTestFinished, test } from "vitest";
import { isJsonList, isJsonObject, type JsonValue } from "../../../src/base/json.ts";
import { openaiResponses } from "../../../src/providers/openai-responses.ts";
import { compaction, message, startReferenceServer } from "../../../src/reference-server/server.ts";
import { createWorkshop, dataOf, eventsOf } from "../../support/workshop.ts";

const context_management = [{ type: "compaction", compact_threshold: 1_000 }];

/** A server whose first answer brings a compaction item, as one that compacts within a response does. */
async function compactingServer() {
  const server = await startReferenceServer({
    answer: ({ request }) => ({ output: [...(request === 0 ? [compaction()] : []), message(`answer ${request}`)] }),
  });
  onTestFinished(() => server[Symbol.asyncDispose]());
  return server;
}

const typesSent = (body: JsonValue | undefined): readonly (JsonValue | undefined)[] => {
  const input = isJsonObject(body) ? body["input"] : [];
  return isJsonList(input)
    ? input.filter(isJsonObject).map(({ type, role }) => (role === undefined ? type : role))
    : [];
};

test.each([
  ["chained, with the new message only", "chained", ["user"]],
  ["stateless, with the item in the place of all before it", "stateless", ["compaction", "assistant", "user"]],
] as const)(
  "a compaction of the server's is a block of the Turn, and the next request goes on %s",
  async (_, mode, sent) => {
    const server = await compactingServer();
    const workshop = createWorkshop();
    const { conversation } = workshop;
    const provider = openaiResponses({ model: "m", apiKey: "k", baseURL: `${server.url}/v1`, context_management });
    const engine = workshop.engine({ provider, mode });
    await conversation.append("first");
    await conversation.run(engine);
    await conversation.append("second");
    expect(await conversation.run(engine)).toMatchObject({ text: "answer 1" });
    const turn = await conversation.turn();
    expect(turn.blocks.map(({ type }) => type)).toEqual(["message", "compaction", "message", "message", "message"]);
    const asked = server.requests.filter(({ method }) => method === "POST").map(({ body }) => body);
    expect(typesSent(asked[1])).toEqual(sent);
    expect(asked.map((body) => (isJsonObject(body) ? body["context_management"] : null))).toEqual([
      context_management,
      context_management,
    ]);
  },
);

test("another endpoint, which cannot read it, is not sent it", async () => {
  const [first, other] = [await compactingServer(), await compactingServer()];
  const workshop = createWorkshop();
  const { conversation } = workshop;
  const at = (baseURL: string) =>
    workshop.engine({
      provider: openaiResponses({ model: "m", apiKey: "k", baseURL: `${baseURL}/v1`, context_management }),
    });
  await conversation.append("first");
  await conversation.run(at(first.url));
  await conversation.append("second");
  await conversation.run(at(other.url));
  expect(typesSent(other.requests.find(({ method }) => method === "POST")?.body)).toEqual([
    "user",
    "assistant",
    "user",
  ]);
  const [, request] = dataOf(await eventsOf(conversation), "InferenceRequested");
  expect(request?.decision.repairs).toContainEqual({ rule: "omit", index: 1, detail: { reason: "foreign" } });
});
