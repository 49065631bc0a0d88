import { afterEach, beforeEach, describe, expect, test } from "vitest";
import * as reference from "../../../packages/reference-server/src/server.ts";
import type { JsonObject } from "../../../src/base/json.ts";
import type { Block } from "../../../src/domain/block.ts";
import { text, toolResult, user } from "../../../src/domain/make-block.ts";
import { ProviderError } from "../../../src/engine/ports/provider-error.ts";
import { openaiResponses } from "../../../src/providers/responses/openai-responses.ts";
import { responsesCodec } from "../../../src/providers/responses/responses-codec.ts";
import type { OpenaiResponses } from "../../../src/providers/responses/responses-options.ts";
import { parsed } from "../../support/base/arbitrary-json.ts";
import { type Asked, ask, failureOf, idOf, textOf } from "../../support/providers/inferences.ts";
import { itemsOf } from "../../support/providers/recorded-cases.ts";

const { functionCall, hosted, message, reasoning } = reference;
const answers = [
  {
    output: [
      reasoning({ summary: "first" }),
      message("Looking it up.", { phase: "commentary" }),
      functionCall("weather", '{ "city": "Paris" }'),
      functionCall("weather", '{"city":"Rome"}'),
    ],
  },
  {
    output: [
      reasoning({ summary: "second" }),
      hosted({ type: "web_search_call", status: "completed", action: { type: "search", query: "Paris" } }),
      reference.customCall("note", "free text"),
    ],
  },
  {
    output: [
      message("Fine.", {
        phase: "final_answer",
        annotations: [{ type: "url_citation", url: "https://example.com", title: "t", start_index: 0, end_index: 4 }],
      }),
    ],
  },
];

describe.each(["sse", "json"] as const)("against the reference server, by %s", (transport) => {
  let server: reference.ReferenceServer;
  let provider: OpenaiResponses;
  beforeEach(async () => {
    server = await reference.startReferenceServer({
      seed: "providers",
      answer: ({ request }) => answers[request % answers.length] ?? { output: [] },
    });
    provider = openaiResponses({ model: "m", apiKey: "sk-test", baseURL: server.baseUrl, transport });
  });
  afterEach(() => server[Symbol.asyncDispose]());

  const send = (blocks: readonly Block[], previousResponseId: string | null = null): Promise<Asked> => {
    const input = blocks.map((block) => ({ block, withId: true }));
    const anchor = previousResponseId === null ? null : { kind: "response", id: previousResponseId };
    const settings = { ...provider.settings, include: ["reasoning.encrypted_content"] };
    return ask(provider, {
      bodyText: responsesCodec.encodeRequest({ settings, input, anchor, transport }),
    });
  };
  const blocksOf = ({ response }: Asked): readonly Block[] =>
    itemsOf(response["output"]).map((item) => responsesCodec.decodeItem(item, { scope: provider.scope }));
  const resultsFor = (blocks: readonly Block[]): readonly Block[] =>
    blocks.flatMap((block) => {
      const type = block.type === "custom" ? "custom" : "function";
      const output = type === "custom" ? [text("ok")] : "ok";
      return block.kind === "tool_call" ? [toolResult({ callId: block.callId ?? "", output, type })] : [];
    });

  test("a chain and a full resend of what it holds are accepted, and read the same", async () => {
    const first = await send([user("How is Paris?")]);
    const afterFirst = [user("How is Paris?"), ...blocksOf(first), ...resultsFor(blocksOf(first))];
    const second = await send(resultsFor(blocksOf(first)), idOf(first));
    const afterSecond = [...afterFirst, ...blocksOf(second), ...resultsFor(blocksOf(second))];
    const third = await send(resultsFor(blocksOf(second)), idOf(second));
    const full = await send([...afterSecond, ...blocksOf(third), user("And now?")]);
    const chained = await send([user("And now?")], idOf(third));
    const read = (asked: Asked): readonly string[] | undefined => {
      const reading = server.reading(idOf(asked));
      return reading && reference.readItems(reading.items, reading);
    };
    expect(server.requests.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
    expect(read(full)).toEqual(read(chained));
    expect(read(full)?.length).toBeGreaterThan(10);
  });

  test("gives each response as the server holds it, its text and its very bytes", async () => {
    const asked = await send([user("How is Paris? \ud83c\udf26")]);
    expect(unsealed(asked.response)).toEqual(unsealed(server.response(idOf(asked)) ?? {}));
    expect(unsealed(await provider.retrieve(idOf(asked)))).toEqual(unsealed(asked.response));
    expect(textOf(asked.deltas, "text-delta")).toBe("Looking it up.");
    expect(textOf(asked.deltas, "reasoning-delta")).toBe("first");
    expect(textOf(asked.deltas, "tool-call-delta")).toBe('{ "city": "Paris" }{"city":"Rome"}');
    const input = [{ block: user("How is Paris? \ud83c\udf26"), withId: true }];
    const settings = { model: "m", include: ["reasoning.encrypted_content"] };
    const bodyText = responsesCodec.encodeRequest({ settings, input, anchor: null, transport });
    expect(server.requests[0]?.bodyText).toBe(bodyText);
  });

  test("a response that was deleted is lost", async () => {
    const id = idOf(await send([user("Hello")]));
    await provider.delete(id);
    const failure = await failureOf(send([user("Again")], id));
    expect(failure).toMatchObject({
      kind: "lost-state",
      outcome: "rejected",
      status: 400,
      param: "previous_response_id",
    });
    expect(await failureOf(provider.retrieve(id))).toMatchObject({
      kind: "lost-state",
      status: 404,
    });
  });

  test.each(reference.errorRows.map((row) => [row.name, row] as const))("classifies %s", async (name, row) => {
    server.inject(reference.cannedError(name));
    const failure = await failureOf(send([user("Hello")]));
    expect(failure.kind).toBe(kindByRow.get(name) ?? "invalid-request");
    const { status, param } = row;
    const code = typeof row.code === "string" ? row.code : null;
    // xAI says its code beside the text that is its error.
    const providerCode = name === "previous-unusable-xai" ? "not-found" : code;
    // Of a model that there is not, what to do is said, too.
    const message = `${row.message}${name === "model-not-found" ? "; give the provider or the run a model that this server has" : ""}`;
    expect(failure).toMatchObject({ status, param, providerCode, message });
    expect(failure.outcome).toBe(name === "server-error" ? "unknown" : "rejected");
  });

  test("a cut after any number of bytes is an error that says so, and loses no item that was done", async () => {
    let partials = 0;
    for (let afterBytes = 0; ; afterBytes += 97) {
      server.inject({ kind: "cut", afterBytes });
      const outcome = await send([user("Hello")]).catch((error: unknown) => error);
      if (server.requests.at(-1)?.hasFaultFired !== true) break;
      if (!(outcome instanceof ProviderError)) continue;
      expect(outcome.outcome).toBe("unknown");
      expect(["stream-cut", "connection"]).toContain(outcome.kind);
      partials += outcome.partial.length;
      server.clear();
    }
    expect(partials > 0).toBe(transport === "sse");
  });

  test("an answer that never arrives leaves open what the server did", async () => {
    server.inject({ kind: "lost-acknowledgement" });
    const failure = await failureOf(send([user("Hello")]));
    expect(failure.outcome).toBe("unknown");
    expect(server.responseIds()).toHaveLength(1);
  });
});

test.each([true, false])("an error in a stream of the reference server is an error (nested: %s)", async (isNested) => {
  await using server = await reference.startReferenceServer();
  const provider = openaiResponses({ model: "m", apiKey: "sk-test", baseURL: server.baseUrl });
  const error = { code: "context_length_exceeded", message: "too long", param: "input" };
  server.inject({ kind: "stream-error", error, isNested });
  const asked = ask(provider, { bodyText: '{"model":"m","input":"Hello","stream":true}' });
  expect(await failureOf(asked)).toMatchObject({ kind: "context-length-exceeded", outcome: "rejected" });
});

/** A response without its ciphertexts: they are made anew whenever it is told. */
const unsealed = (response: reference.JsonObject | JsonObject): unknown =>
  parsed(JSON.stringify(response, (name, value: unknown) => (name === "encrypted_content" ? "sealed" : value)));

/** The rows of the error catalogue that are not just invalid requests. */
const kindByRow: ReadonlyMap<string, string> = new Map([
  ["previous-not-found", "lost-state"],
  ["response-not-found", "lost-state"],
  ["previous-not-found-vllm", "lost-state"],
  ["zero-data-retention", "chaining-unsupported"],
  ["unsupported-previous-detail", "chaining-unsupported"],
  ["unsupported-previous-llama", "chaining-unsupported"],
  ["previous-unusable-xai", "chaining-unsupported"],
  ["conversation-not-found", "conversation-not-found"],
  ["conversation-locked", "conversation-locked"],
  ["missing-output", "missing-tool-output"],
  ["missing-output-shell", "missing-tool-output"],
  ["orphan-output", "orphan-tool-output"],
  ["reasoning-without-follower", "reasoning-pairing"],
  ["call-without-reasoning", "reasoning-pairing"],
  ["message-without-reasoning", "reasoning-pairing"],
  ["duplicate-item", "duplicate-item"],
  ["item-not-found", "item-not-found"],
  ["bad-ciphertext", "invalid-encrypted-content"],
  ["bad-ciphertext-2025", "invalid-encrypted-content"],
  ["context-too-long", "context-length-exceeded"],
  ["rate-limit", "rate-limited"],
  ["plan-limit", "rate-limited"],
  ["server-error", "server-error"],
]);
