import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { canonicalJson } from "../../../src/base/canonical-json.ts";
import type { JsonObject, JsonValue } from "../../../src/base/json.ts";
import type { Block } from "../../../src/domain/block.ts";
import { ProviderError } from "../../../src/engine/ports/provider-error.ts";
import { classifyFailure } from "../../../src/providers/failures/classify-error.ts";
import { openaiResponses } from "../../../src/providers/responses/openai-responses.ts";
import { responsesCodec } from "../../../src/providers/responses/responses-codec.ts";
import { type Loopback, serve } from "../../support/providers/loopback.ts";
import {
  type Exchange,
  hasRecordings,
  itemsOf,
  needsRecordings,
  recordedExchanges,
} from "../../support/providers/recorded-cases.ts";
import { stringsOf } from "../../support/providers/strings-of.ts";

const exchanges = hasRecordings ? recordedExchanges() : [];
const isCreate = ({ method, path }: Exchange): boolean => method === "POST" && path.endsWith("/responses");
const answered = exchanges.filter((exchange) => exchange.status === 200 && isCreate(exchange));
const refused = exchanges.filter(({ status }) => status >= 400);
const decode = (item: JsonObject): Block => responsesCodec.decodeItem(item, { scope: "recorded" });

const items = exchanges.flatMap(({ request, response }) => [
  ...itemsOf(request["input"]),
  ...itemsOf(response["output"]),
]);

test.skipIf(!hasRecordings)(`recorded items are all there to be tested${needsRecordings}`, () => {
  expect(items.length).toBe(868);
});

// Without recordings the one test above says so; the others would only repeat it.
const describeRecorded = hasRecordings ? describe : () => undefined;

describeRecorded("recorded items", () => {
  test("come back exactly as they came, strings byte for byte", () => {
    const different = items.filter(
      (item) => canonicalJson(responsesCodec.encodeItem(decode(item))) !== canonicalJson(item),
    );
    expect(different).toEqual([]);
    for (const item of items) expect(stringsOf(responsesCodec.encodeItem(decode(item)))).toEqual(stringsOf(item));
  });

  test("of unknown kinds keep the order of their members", () => {
    const unknown = items.filter((item) => decode(item).kind === "other");
    expect(unknown.length).toBeGreaterThan(30);
    for (const item of unknown)
      expect(JSON.stringify(responsesCodec.encodeItem(decode(item)))).toBe(JSON.stringify(item));
  });

  test("say the same to a model when they are sent again", () => {
    for (const item of items) {
      const block = decode(item);
      expect(responsesCodec.unsendableReason(block, { withId: true })).toBeNull();
      expect(decode(responsesCodec.requestItem(block, { withId: true })).digest).toBe(block.digest);
    }
  });

  test("are equal to their later echo as input", () => {
    const pairs = echoesOf(exchanges);
    expect(pairs.length).toBe(105);
    const different = pairs.filter(([output, echo]) => decode(output).digest !== decode(echo).digest);
    // The recorded client changed two items itself: it replaced quotation marks, and added a namespace.
    expect(different.map(([output]) => output["type"])).toEqual(["function_call", "message"]);
    for (const [output, echo] of different) expect(shape(decode(echo).payload)).toEqual(shape(decode(output).payload));
  });
});

describeRecorded("recorded answers", () => {
  let server: Loopback;
  beforeAll(async () => {
    server = await serve((response, { headers, method }) => {
      const asked = exchanges[Number(headers["x-exchange"])];
      const exchange = method === "GET" && asked !== undefined ? fetched(asked) : asked;
      response.writeHead(exchange?.status ?? 500, { "content-type": exchange?.contentType }).end(exchange?.answer);
    });
  });
  afterAll(() => server[Symbol.asyncDispose]());

  const infer = (exchange: Exchange): Promise<JsonValue> => {
    const headers = { "x-exchange": String(exchanges.indexOf(exchange)) };
    const { baseURL } = server;
    const provider = openaiResponses({ model: "recorded", apiKey: "none", baseURL, headers });
    const { signal } = new AbortController();
    const transport = exchange.isStream ? "sse" : "json";
    const request = { bodyText: "{}", settings: {}, transport, signal, onDelta: () => undefined } as const;
    return provider.infer(request).then(({ response }) => response);
  };

  test("are given back whole, streamed or not, and fetched when they were made in the background", async () => {
    expect(answered.filter(({ response }) => response["status"] === "queued").length).toBe(1);
    expect(answered.filter(({ isStream }) => isStream).length).toBe(22);
    expect(answered.length).toBe(186);
    for (const exchange of answered)
      expect(JSON.stringify(await infer(exchange))).toBe(JSON.stringify((fetched(exchange) ?? exchange).response));
  });

  test("that refuse are classified, with their status and code", async () => {
    expect(refused.length).toBe(8);
    for (const exchange of refused) {
      const error = await infer(exchange).then(undefined, (thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(ProviderError);
      const isUnpaired = exchange.answer.includes("No tool output found");
      const kind = isUnpaired ? "missing-tool-output" : "invalid-request";
      expect(error).toMatchObject({ kind, outcome: "rejected", status: 400, body: exchange.answer });
      expect(classifyFailure({ status: 400, body: exchange.response })).toMatchObject({ kind });
    }
  });
});

/** What a later retrieve gave of a response that was queued. */
const fetched = ({ response: { id, status } }: Exchange): Exchange | undefined =>
  status !== "queued" || typeof id !== "string"
    ? undefined
    : exchanges.find(({ method, path }) => method === "GET" && path.includes(id));

/** An item without what the recorded client changed. */
const shape = (payload: JsonObject): JsonObject => ({ ...payload, namespace: null, content: null });

/** Every output item that a later request of its case carries under the same id. */
function echoesOf(all: readonly Exchange[]): readonly (readonly [JsonObject, JsonObject])[] {
  const outputs = new Map<string, JsonObject>();
  return all.flatMap(({ case: name, request, response }) => {
    const inputs = itemsOf(request["input"]);
    const pairs = inputs.flatMap((echo): (readonly [JsonObject, JsonObject])[] => {
      const output = outputs.get(keyOf(name, echo));
      return output === undefined ? [] : [[output, echo]];
    });
    for (const output of itemsOf(response["output"])) outputs.set(keyOf(name, output), output);
    return pairs;
  });
}

const keyOf = (name: string, { type, id, call_id: callId }: JsonObject): string =>
  JSON.stringify([name, type, type === "function_call" ? callId : id]);
