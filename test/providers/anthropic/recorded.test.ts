import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createMessagesFront } from "../../../packages/reference-server/src/messages/messages-front.ts";
import { parseJson as parseWire } from "../../../packages/reference-server/src/wire.ts";
import { canonicalJson } from "../../../src/base/canonical-json.ts";
import { isJsonList, isJsonObject, type JsonObject, parseJson } from "../../../src/base/json.ts";
import { Block } from "../../../src/domain/block.ts";
import { anthropic } from "../../../src/providers/anthropic/anthropic.ts";
import { draftsOfMessages, writtenMessages } from "../../../src/providers/anthropic/messages.ts";
import { messagesCodec } from "../../../src/providers/anthropic/messages-codec.ts";
import { type Loopback, serve } from "../../support/providers/loopback.ts";
import {
  type Exchange,
  hasRecordings,
  needsRecordings,
  recordedExchanges,
} from "../../support/providers/recorded-cases.ts";
import { stringsOf } from "../../support/providers/strings-of.ts";

const exchanges = hasRecordings
  ? recordedExchanges("anthropic").filter(({ provider }) => provider === "anthropic")
  : [];
const answered = exchanges.filter(({ path }) => !path.includes("count_tokens"));

test.skipIf(!hasRecordings)(`recorded messages are all there to be tested${needsRecordings}`, () => {
  expect([exchanges.length, answered.length, answered.filter(({ isStream }) => isStream).length]).toEqual([
    117, 115, 3,
  ]);
});

// Without recordings the one test above says so; the others would only repeat it.
const describeRecorded = hasRecordings ? describe : () => undefined;

const messagesIn = ({ request: { messages } }: Exchange): readonly JsonObject[] =>
  (isJsonList(messages) ? messages : []).filter(isJsonObject);

const scope = "recorded";
const blocksOf = (messages: readonly JsonObject[]): readonly Block[] =>
  draftsOfMessages(messages).map(
    ({ kind, payload, wire }) => new Block({ id: null, kind, payload, wire: { scope, ...wire } }),
  );

/** The settings that a recorded request was asked with, in turnlog's words. */
function settingsIn({ request: { messages: _, stream: __, system, ...settings } }: Exchange): JsonObject {
  return { ...settings, ...(system === undefined ? {} : { instructions: system }) };
}

describeRecorded("recorded requests", () => {
  test("give their messages back from blocks exactly, strings byte for byte", () => {
    const messages = exchanges.map(messagesIn);
    expect(messages.flat().length).toBe(300);
    for (const each of messages) {
      const written = writtenMessages(blocksOf(each));
      expect(canonicalJson(written)).toBe(canonicalJson(each));
      expect(stringsOf(written)).toEqual(stringsOf(each));
    }
  });

  test("are made of settings and blocks again, with no block left out", () => {
    for (const exchange of exchanges) {
      const input = blocksOf(messagesIn(exchange)).map((block) => ({ block, withId: false }));
      expect(input.map(({ block }) => messagesCodec.unsendableReason(block, { withId: false }))).toEqual(
        input.map(() => null),
      );
      const transport = exchange.request["stream"] === true ? "sse" : "json";
      const body = messagesCodec.encodeRequest({ settings: settingsIn(exchange), input, anchor: null, transport });
      const { stream, ...asked } = exchange.request;
      // What is not streamed does not say so.
      const told = stream === true ? { stream } : {};
      expect(canonicalJson(parseJson(body))).toBe(canonicalJson({ ...asked, ...told }));
      expect(stringsOf(parseJson(body))).toEqual(stringsOf({ ...asked, ...told }));
    }
  });
});

describeRecorded("recorded requests that were answered", () => {
  test("are accepted by the reference front, made again from their blocks", () => {
    const front = createMessagesFront({ seed: "recorded", verifiesCiphertexts: false });
    const url = new URL("http://front.test/v1/messages");
    const refused = answered.flatMap((exchange) => {
      const input = blocksOf(messagesIn(exchange)).map((block) => ({ block, withId: false }));
      const asked = { settings: settingsIn(exchange), input, anchor: null, transport: "json" } as const;
      const body = parseWire(messagesCodec.encodeRequest(asked));
      const answer = front.accept({ body, url, headers: {}, fault: undefined, index: 0 });
      return "refusal" in answer
        ? [{ name: exchange.case, status: exchange.status, refusal: answer.refusal.body }]
        : [];
    });
    expect(refused).toEqual([]);
  });
});

describeRecorded("recorded answers", () => {
  let server: Loopback;
  beforeAll(async () => {
    server = await serve((response, { headers }) => {
      const exchange = answered[Number(headers["x-exchange"])];
      response.writeHead(exchange?.status ?? 500, { "content-type": exchange?.contentType }).end(exchange?.answer);
    });
  });
  afterAll(() => server[Symbol.asyncDispose]());

  const infer = (exchange: Exchange): Promise<JsonObject> => {
    const headers = { "x-exchange": String(answered.indexOf(exchange)) };
    const provider = anthropic({ model: "recorded", apiKey: "none", baseURL: server.baseURL, headers });
    const { signal } = new AbortController();
    const transport = exchange.isStream ? "sse" : "json";
    const request = { bodyText: "{}", settings: {}, transport, signal, onDelta: () => undefined } as const;
    return provider.infer(request).then(({ response }) => response);
  };

  test("are given back whole, streamed or not, and from their blocks", async () => {
    for (const exchange of answered) {
      const response = await infer(exchange);
      expect(canonicalJson(response)).toBe(
        canonicalJson(exchange.isStream ? joined(exchange.answer) : exchange.response),
      );
      const answer = messagesCodec.readAnswer(response, { inferenceId: "inf_1", settings: {}, capabilities: {} });
      expect(answer.isComplete).toBe(true);
      const blocks = answer.blocks.map(
        ({ kind, payload, wire }) => new Block({ id: null, kind, payload, wire: { scope, ...wire } }),
      );
      const written = messagesCodec.writeAnswer({ ...answer, blocks });
      expect(canonicalJson(written)).toBe(canonicalJson(response));
      expect(stringsOf(written)).toEqual(stringsOf(response));
    }
  });

  test("are sent again as they came", async () => {
    for (const exchange of answered) {
      const { content } = await infer(exchange);
      const contents = (isJsonList(content) ? content : []).filter(isJsonObject);
      const [message] = writtenMessages(blocksOf([{ role: "assistant", content: contents.map(plain) }]));
      expect(canonicalJson(message ?? null)).toBe(canonicalJson({ role: "assistant", content: contents.map(plain) }));
    }
  });
});

/** A block of content as a request may have it: the text of streamed arguments is no part of it. */
const plain = ({ partial_json: _, ...content }: JsonObject): JsonObject => content;

/** The message that the events of a stream make, joined without the code under test. */
function joined(stream: string): JsonObject {
  const events = stream
    .split(/\r?\n/)
    .filter((line) => line.startsWith("data:"))
    .map((line) => parseJson(line.slice("data:".length)))
    .filter(isJsonObject);
  const of = (type: string): readonly JsonObject[] => events.filter((event) => event["type"] === type);
  const objectIn = (event: JsonObject | undefined, name: string): JsonObject => {
    const value = event?.[name];
    return isJsonObject(value) ? value : {};
  };
  const content = of("content_block_start").map(({ index, content_block: start }) => {
    const deltas = of("content_block_delta").filter((event) => event["index"] === index);
    const texts = (name: string): string =>
      deltas
        .map((event) => objectIn(event, "delta")[name])
        .filter((text) => typeof text === "string")
        .join("");
    const citations = deltas.flatMap((event) => objectIn(event, "delta")["citation"] ?? []);
    const json = texts("partial_json");
    return {
      ...(isJsonObject(start) ? start : {}),
      ...(texts("text") === "" ? {} : { text: texts("text") }),
      ...(citations.length === 0 ? {} : { citations }),
      ...(json === "" ? {} : { input: parseJson(json) }),
    };
  });
  const started = objectIn(of("message_start")[0], "message");
  const ended = of("message_delta")[0];
  const usage = { ...objectIn(started, "usage"), ...objectIn(ended, "usage") };
  return { ...started, ...objectIn(ended, "delta"), content, usage };
}
