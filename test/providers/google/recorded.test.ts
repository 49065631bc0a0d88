import { describe, expect, test } from "vitest";
import { createGoogleFront } from "../../../packages/reference-server/src/google/google-front.ts";
import { parseJson as parseWire } from "../../../packages/reference-server/src/wire.ts";
import { canonicalJson } from "../../../src/base/canonical-json.ts";
import { isJsonObject, type JsonObject, type JsonValue, parseJson } from "../../../src/base/json.ts";
import type { Block } from "../../../src/domain/block.ts";
import { blockFromJson, blockJsonSchema, blockToJson } from "../../../src/domain/block-json.ts";
import { plainNames } from "../../../src/domain/block-names.ts";
import { blockIdSchema } from "../../../src/domain/ids.ts";
import { blocksOf } from "../../../src/engine/planning/response.ts";
import { geminiCodec } from "../../../src/providers/google/gemini-codec.ts";
import { blocksOfContents } from "../../../src/providers/google/gemini-contents.ts";
import { GeminiStream } from "../../../src/providers/google/gemini-stream.ts";
import { googleGemini } from "../../../src/providers/google/google-gemini.ts";
import {
  type GoogleExchange,
  googleExchanges,
  hasGoogleRecordings,
  needsGoogleRecordings,
  partsIn,
} from "../../support/providers/google-cases.ts";

const exchanges = hasGoogleRecordings ? googleExchanges() : [];
const scope = "recorded";
const id = blockIdSchema.parse("blk_0000000000000001");
/** A block as it is read back from a store. */
const stored = (block: Block): Block =>
  blockFromJson(blockJsonSchema.parse(parseJson(JSON.stringify(blockToJson(block.withId(id))))));

test.skipIf(!hasGoogleRecordings)(`recorded exchanges are all there to be tested${needsGoogleRecordings}`, () => {
  expect(exchanges.length).toBe(131);
  expect(exchanges.filter(({ isStream }) => isStream).length).toBe(5);
});

// Without recordings the one test above says so; the others would only repeat it.
const describeRecorded = hasGoogleRecordings ? describe : () => undefined;

describeRecorded("recorded requests", () => {
  test("are made again from the blocks that they are read as, strings byte for byte", () => {
    for (const { request, contents, model } of exchanges) {
      const { contents: _, ...settings } = request;
      const input = blocksOfContents(contents, { scope }).map((block) => ({ block: stored(block), withId: false }));
      const body = geminiCodec.encodeRequest({
        settings: { model, ...settings },
        input,
        anchor: null,
        transport: "json",
      });
      expect(canonicalJson(parseJson(body))).toBe(canonicalJson(request));
      expect(stringsOf(parseJson(body))).toEqual(stringsOf(request));
    }
  });

  test("are accepted by the reference front, made again from their blocks", () => {
    const front = createGoogleFront({ seed: "recorded", verifiesCiphertexts: false });
    const refused = exchanges.flatMap(({ case: name, request, contents, model }) => {
      const { contents: _, ...settings } = request;
      const input = blocksOfContents(contents, { scope }).map((block) => ({ block: stored(block), withId: false }));
      const asked = { settings: { model, ...settings }, input, anchor: null, transport: "json" } as const;
      const body = parseWire(geminiCodec.encodeRequest(asked));
      const url = new URL(`http://front.test/models/${model}:generateContent`);
      const answer = front.accept({ body, url, headers: {}, fault: undefined, index: 0 });
      return "refusal" in answer ? [{ name, refusal: answer.refusal.body }] : [];
    });
    expect(refused).toEqual([]);
  });

  test("can be sent again, each block of them", () => {
    const blocks = exchanges.flatMap(({ contents }) => blocksOfContents(contents, { scope }));
    expect(blocks.length).toBeGreaterThan(300);
    for (const block of blocks) expect(geminiCodec.unsendableReason(block, { withId: false })).toBeNull();
  });
});

describeRecorded("recorded answers", () => {
  const answered = exchanges.map((exchange) => [exchange, wholeOf(exchange)] as const);
  const read = (response: JsonObject) => {
    const asked = { inferenceId: "inf_0000000000000001", settings: {}, capabilities: {} };
    const answer = geminiCodec.readAnswer(response, asked);
    const from = { scope, inferenceId: asked.inferenceId, isMasked: false, newBlockId: () => id, names: plainNames };
    return { answer, blocks: blocksOf(answer, from).map(stored) };
  };

  test("are given back whole", () => {
    for (const [, response] of answered) {
      const { answer, blocks } = read(response);
      expect(answer.isComplete).toBe(true);
      const told = geminiCodec.writeAnswer({ ...answer, blocks });
      expect(canonicalJson(told)).toBe(canonicalJson(response));
      expect(stringsOf(told)).toEqual(stringsOf(response));
    }
  });

  test("come whole out of the provider, streamed or not", async () => {
    for (const [{ answer, contentType, isStream, model }, response] of answered) {
      const provider = googleGemini({
        ...{ model, apiKey: "none", transport: isStream ? "sse" : "json" },
        fetch: async () => new Response(answer, { headers: { "content-type": contentType } }),
      });
      const { signal } = new AbortController();
      const { settings, transport } = provider;
      const told = await provider.infer({ bodyText: "{}", settings, transport, signal, onDelta: () => undefined });
      expect(canonicalJson(told.response)).toBe(canonicalJson(response));
    }
  });

  test("are sent back part by part as they came", () => {
    for (const [{ model }, response] of answered) {
      const input = read(response).blocks.map((block) => ({ block, withId: false }));
      const body = parseJson(
        geminiCodec.encodeRequest({ settings: { model }, input, anchor: null, transport: "json" }),
      );
      const contents = isJsonObject(body) ? body["contents"] : undefined;
      expect(contents).toEqual(input.length === 0 ? [] : [{ role: "model", parts: partsIn(response) }]);
    }
  });

  test("say what they have cost", () => {
    const { usage } = read(answered[0]?.[1] ?? {}).answer;
    expect(usage?.inputTokens).toBeGreaterThan(0);
    expect(usage?.reported).toEqual(answered[0]?.[1]["usageMetadata"]);
  });

  test("that were streamed say what their chunks say, each signature in its part", () => {
    for (const [{ responses, isStream }, response] of answered) {
      if (!isStream) continue;
      const chunks = responses.flatMap(partsIn);
      const texts = (parts: readonly JsonObject[]) =>
        parts.map(({ text }) => (typeof text === "string" ? text : "")).join("");
      const others = (parts: readonly JsonObject[]) => parts.filter(({ text }) => text === undefined);
      const signatures = (parts: readonly JsonObject[]) =>
        parts.flatMap(({ thoughtSignature }) => thoughtSignature ?? []);
      expect(texts(partsIn(response))).toBe(texts(chunks));
      expect(others(partsIn(response))).toEqual(others(chunks));
      expect(signatures(partsIn(response))).toEqual(signatures(chunks));
      expect(response["usageMetadata"]).toEqual(responses.at(-1)?.["usageMetadata"]);
      expect(response["responseId"]).toBe(responses[0]?.["responseId"]);
    }
  });
});

function wholeOf({ responses, isStream }: GoogleExchange): JsonObject {
  const [first = {}] = responses;
  if (!isStream) return first;
  const stream = new GeminiStream(() => undefined);
  for (const response of responses) {
    expect(stream.isFinished).toBe(false);
    stream.take(response);
  }
  expect(stream.isFinished).toBe(true);
  return stream.response;
}

function stringsOf(value: JsonValue | undefined): readonly string[] {
  if (typeof value === "string") return [value];
  if (value === null || typeof value !== "object") return [];
  return Object.entries(value)
    .toSorted(([left], [right]) => (left < right ? -1 : 1))
    .flatMap(([name, member]: [string, JsonValue | undefined]) => [name, ...stringsOf(member)]);
}
