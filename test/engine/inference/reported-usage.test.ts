import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../src/base/json.ts";
import { usageOfFailed } from "../../../src/engine/inference/arriving-answer.ts";
import type { InferenceRequest, Provider } from "../../../src/engine/ports/provider.ts";
import { ProviderError } from "../../../src/engine/ports/provider-error.ts";
import { anthropic } from "../../../src/providers/anthropic/anthropic.ts";
import { claudeCliCodec } from "../../../src/providers/claude-cli/claude-cli-codec.ts";
import { scripted } from "../../../src/providers/scripted/scripted.ts";
import { masked } from "../../../src/providers/secrets/masked-provider.ts";
import { answering as answerWith, eventStream, serve } from "../../support/providers/loopback.ts";
import { createWorkshop, dataOf, eventsOf, rejectionOf } from "../../support/workshop.ts";

const reported: JsonObject = { input_tokens: 90, input_tokens_details: { cached_tokens: 64 }, output_tokens: 3 };
const told = { inputTokens: 90, cachedInputTokens: 64, outputTokens: 3, reasoningTokens: 0 };
const counts = { input: 90, cacheRead: 64, output: 3 };

/** A provider whose first answer fails like this. */
const failing = (fail: (request: InferenceRequest) => ProviderError, transport = "sse"): Provider => ({
  ...scripted([]),
  transport,
  infer: (request) => Promise.reject(fail(request)),
});

const cut = (fields: { readonly body?: JsonObject } = {}): ProviderError =>
  new ProviderError("cut", { kind: "stream-cut", outcome: "unknown", ...fields });

async function failureBy(provider: Provider) {
  const { conversation, ...workshop } = createWorkshop();
  await conversation.append("hello");
  await rejectionOf(conversation.run(workshop.engine({ provider })));
  return dataOf(await eventsOf(conversation), "InferenceFailed")[0];
}

describe("the usage of an answer that failed", () => {
  test("is the newest that its stream reported", async () => {
    const failed = await failureBy(
      failing(({ onDelta }) => {
        onDelta({ type: "usage", usage: { ...told, outputTokens: 1 }, reported: { ...reported, output_tokens: 1 } });
        onDelta({ type: "usage", usage: told, reported });
        return cut();
      }),
    );
    expect(failed?.usage).toEqual({ ...told, counts, reported });
  });

  test("is that of the failed response, if the server sent one", async () => {
    const body = { id: "resp_1", status: "failed", model: "gpt-5.4", usage: reported };
    const failed = await failureBy(failing(() => cut({ body })));
    expect(failed?.usage).toEqual({ ...told, counts: { ...counts, served: "gpt-5.4" }, reported });
  });

  test("is that of the Claude CLI's result, which ends a failed answer too", () => {
    const usage = { input_tokens: 2, cache_read_input_tokens: 10, cache_creation_input_tokens: 0, output_tokens: 3 };
    const body = { type: "result", subtype: "error_during_execution", is_error: true, total_cost_usd: 0.5, usage };
    const asked = { inferenceId: "inf_1", settings: {}, capabilities: {} };
    expect(usageOfFailed(cut({ body }), claudeCliCodec, asked)).toMatchObject({
      ...{ inputTokens: 12, cachedInputTokens: 10, outputTokens: 3, reported: usage },
      counts: { input: 12, cacheRead: 10, output: 3, usd: "0.5" },
    });
  });

  test("has no secret in it, whatever the server reported", async () => {
    const provider = failing(({ onDelta }) => {
      onDelta({ type: "usage", usage: told, reported: { ...reported, key: "hunter2-hunter2" } });
      return cut();
    });
    const failed = await failureBy(masked(provider, { secrets: { KEY: "hunter2-hunter2" } }));
    expect(failed?.usage).toEqual({ ...told, counts, reported: { ...reported, key: "[secret KEY]" } });
  });

  test("is absent if nothing was reported", async () => {
    expect(await failureBy(failing(() => cut({ body: { error: { message: "no" } } })))).not.toHaveProperty("usage");
    expect(await failureBy(failing(() => cut()))).not.toHaveProperty("usage");
  });

  test("has the input of a message that was cut off after its first event", async () => {
    const usage = { input_tokens: 2, cache_creation_input_tokens: 2_046, output_tokens: 1 };
    const start = { type: "message_start", message: { id: "msg_1", model: "claude-opus-5-5", content: [], usage } };
    await using server = await serve(answerWith(`data: ${JSON.stringify(start)}\n\n`, 200, eventStream));
    const provider = anthropic({ apiKey: "sk-none-of-yours", baseURL: server.baseURL, model: "claude-opus-5-5" });
    const failed = await failureBy(provider);
    expect(failed).toMatchObject({ kind: "stream-cut", usage: { inputTokens: 2_048, reported: usage } });
    expect(failed?.usage?.counts).toEqual({ input: 2_048, cacheWritten: { any: 2_046 }, output: 1 });
  });
});

describe("the time to the first part of an answer", () => {
  const answering = (transport: string, tick: () => void): Provider => {
    const provider = scripted(["Hello."]);
    return {
      ...provider,
      transport,
      infer(request) {
        tick();
        request.onDelta({ type: "text-delta", outputIndex: 0, text: "Hel" });
        tick();
        request.onDelta({ type: "text-delta", outputIndex: 0, text: "lo." });
        return provider.infer(request);
      },
    };
  };

  async function firstMs(transport: string): Promise<number | undefined> {
    let now = Date.parse("2026-03-01T00:00:00.000Z");
    const { conversation, ...workshop } = createWorkshop();
    await conversation.append("hello");
    const provider = answering(transport, () => {
      now += 250;
    });
    await conversation.run(workshop.engine({ provider, clock: () => now }));
    return dataOf(await eventsOf(conversation), "ResponseReceived")[0]?.firstMs;
  }

  test("is recorded, in milliseconds since the request", async () => {
    expect(await firstMs("sse")).toBe(250);
  });

  test("is not recorded of an answer that comes whole", async () => {
    expect(await firstMs("json")).toBeUndefined();
  });
});
