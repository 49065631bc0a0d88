import { expect, test } from "vitest";
import { canonicalJson } from "../../../src/base/canonical-json.ts";
import { type JsonObject, parseJson } from "../../../src/base/json.ts";
import { blockFromJson } from "../../../src/domain/block-json.ts";
import { plainNames } from "../../../src/domain/block-names.ts";
import { type InferenceRequestedData, responseReceived } from "../../../src/domain/events/inference-events.ts";
import { blockIdSchema, inferenceIdSchema, settingsNameSchema } from "../../../src/domain/ids.ts";
import { decodeResponse, rebuildResponse } from "../../../src/engine/planning/response.ts";
import { responsesCodec } from "../../../src/providers/responses/responses-codec.ts";
import { defaultCapabilities } from "../../../src/providers/settings/capabilities.ts";
import { hasRecordings, itemsOf, needsRecordings, recordedExchanges } from "../../support/providers/recorded-cases.ts";

const provider = { scope: "test", codec: responsesCodec };

const request: InferenceRequestedData = {
  inferenceId: inferenceIdSchema.parse("inf_0000000000000001"),
  attempt: 0,
  scope: "test",
  encoder: responsesCodec.name,
  settingsDigest: settingsNameSchema.parse("0".repeat(64)),
  decision: {
    strategy: "full",
    reason: "first-request",
    anchor: null,
    transport: "json",
    sendFrom: 0,
    back: 0,
    changedSettings: [],
    repairs: [],
    now: "2026-11-21T00:00:00.000Z",
    capabilities: defaultCapabilities,
    rejected: null,
  },
  input: { turn: "0".repeat(64), held: "0".repeat(64), blocks: 0 },
  requestDigest: "0".repeat(64),
  requestBytes: 0,
};

function idsOf() {
  let blocks = 0;
  return () => blockIdSchema.parse(`run_0000000000000001/0/${blocks++}`);
}

/** Through the event and its text, as a reader of the log gets it. */
function throughTheLog(response: JsonObject, settings: JsonObject): JsonObject {
  const { data } = decodeResponse(response, { request, settings, provider, newBlockId: idsOf(), names: plainNames });
  const text = JSON.stringify({ type: "ResponseReceived", version: 1, data });
  const { data: stored } = responseReceived.parse(parseJson(text));
  return rebuildResponse({ data: stored, blocks: stored.output.map(blockFromJson) }, settings, responsesCodec);
}

const settings = { model: "m", instructions: "Be brief.", tools: [{ type: "function", name: "f" }], store: true };

test("what is no item in the output loses nothing else, and is given back in its place", () => {
  const answer = { type: "message", id: "msg_1", role: "assistant", content: [{ type: "output_text", text: "hi" }] };
  const response: JsonObject = { id: "resp_1", status: "completed", output: [null, answer, 7, answer, "x"] };
  expect(throughTheLog(response, settings)).toEqual(response);
  const { blocks } = decodeResponse(response, { request, settings, provider, newBlockId: idsOf(), names: plainNames });
  expect(blocks.map(({ kind, text }) => [kind, text])).toEqual([
    ["assistant", "hi"],
    ["assistant", "hi"],
  ]);
});

test("an error without a status is no complete answer", () => {
  const response: JsonObject = { id: "resp_1", error: { message: "it broke" }, output: [] };
  expect(
    decodeResponse(response, { request, settings, provider, newBlockId: idsOf(), names: plainNames }).data.isComplete,
  ).toBe(false);
});

test("a response is given back whole, echoes and unknown members included", () => {
  const response: JsonObject = {
    id: "resp_1",
    status: "completed",
    model: "m",
    instructions: "Be brief.",
    tools: [{ type: "function", name: "f" }],
    store: true,
    previous_response_id: null,
    output: [
      { id: "rs_1", type: "reasoning", summary: [], encrypted_content: "gAAA" },
      { id: "x_1", type: "of_tomorrow", z: 1, a: [null, { b: "\ud800" }] },
      {
        id: "msg_1",
        type: "message",
        role: "assistant",
        status: "completed",
        content: [{ type: "output_text", text: "Hi", annotations: [], logprobs: [] }],
      },
    ],
    usage: { input_tokens: 3, output_tokens_details: { reasoning_tokens: 1 } },
    content_filters: [{ severity: "safe" }],
  };
  expect(canonicalJson(throughTheLog(response, settings))).toBe(canonicalJson(response));
});

test("what a response leaves out or says oddly stays left out and odd", () => {
  for (const response of [
    { id: 7, status: null, output: "none", usage: null },
    { output: [], model: "other" },
  ]) {
    expect(canonicalJson(throughTheLog(response, settings))).toBe(canonicalJson(response));
  }
});

test("an echo is named in the event, not stored again", () => {
  const { data } = decodeResponse(
    { id: "r", output: [], tools: settings.tools, model: "n" },
    {
      request,
      settings,
      provider,
      names: plainNames,
      newBlockId: () => blockIdSchema.parse("run_0000000000000001/0/0"),
    },
  );
  expect(data.echoed).toEqual(["tools"]);
  expect(data.rest).toEqual({ model: "n" });
});

test.skipIf(!hasRecordings)(`every recorded response is given back whole from its event${needsRecordings}`, () => {
  const recorded = recordedExchanges().filter(
    ({ status, response }) => status === 200 && itemsOf(response["output"]).length > 0,
  );
  expect(recorded.length).toBeGreaterThan(150);
  for (const { case: name, request: sent, response } of recorded) {
    const { input: _, ...asked } = sent;
    expect(canonicalJson(throughTheLog(response, asked)), name).toBe(canonicalJson(response));
  }
});
