import { expect, onTestFinished, test } from "vitest";
import { message } from "../../../packages/reference-server/src/answers.ts";
import type { JsonObject } from "../../../src/base/json.ts";
import { file, text, toolCall, toolResult, user } from "../../../src/domain/make-block.ts";
import { createEngine, type EngineConfig } from "../../../src/engine/options/create-engine.ts";
import type { Provider } from "../../../src/engine/ports/provider.ts";
import { type DialectName, dialects } from "../../support/dialects.ts";
import { createWorkshop, dataOf, eventsOf, typesOf } from "../../support/workshop.ts";

/** What no user says: but Google's, no wire has a form for it there. */
const refusal: JsonObject = { type: "refusal", refusal: "No." };

const cannotSay = ["responses", "chat", "anthropic", "ollama", "ai-sdk"] as const satisfies readonly DialectName[];

/** A conversation of more than words, and what the model read of it. */
async function onTheWire(name: DialectName, config: Partial<EngineConfig> = {}) {
  const dialect = dialects[name];
  const read: (readonly string[])[] = [];
  const front = await dialect.start((question) => {
    read.push(question().lines);
    return { output: [message("Done.")] };
  });
  const provider = dialect.provider(front.url, { model: "gpt-5.4", transport: "json" });
  const { conversation } = createWorkshop({ codecs: dialect.codecs });
  await conversation.append([
    user([text("Look."), refusal]),
    toolCall({ callId: "call_1", name: "look", arguments: "{}" }),
    toolResult({ callId: "call_1", output: [file({ fileId: "file-1" })] }),
  ]);
  return { front, engine: createEngine({ provider, ...config }), conversation, read };
}

test.each(cannotSay)("on the wire of %s a message and a result go without a part that it cannot say", async (name) => {
  const { front, engine, conversation, read } = await onTheWire(name);
  await using _ = front;
  const { losses, text: answer } = await conversation.run(engine);
  expect(answer).toBe("Done.");
  const repairs = losses.flatMap((loss) => (loss.kind === "repair" ? [loss.repair] : []));
  expect(repairs[0]).toEqual({ rule: "omit-parts", index: 0, detail: { parts: [1], reason: "unsendable" } });
  expect(read[0]?.filter((line) => line.startsWith("user "))).toHaveLength(1);
  expect(front.requests.map(({ status }) => status)).toEqual([200]);
  const { bodyText } = front.requests[0] ?? { bodyText: "" };
  expect(bodyText).not.toContain("aborted");
  const takesFileIds = name === "responses" || name === "anthropic";
  expect(bodyText).toContain(takesFileIds ? "file-1" : "[not shown: file]");
  expect((await conversation.turn()).blocks[0]?.parts).toHaveLength(2);
});

test.each(cannotSay)(
  "on the wire of %s the run ends before anything is sent, where parts are not to be left out",
  async (name) => {
    const { front, engine, conversation } = await onTheWire(name, { onUnsendablePart: "throw" });
    await using _ = front;
    const failure: unknown = await conversation.run(engine).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: "run-failed", kind: "part-unsendable" });
    expect(String(failure)).toMatch(
      /part 1 \(refusal\) of block blk_\w+ cannot be sent to the provider [\w-]+: .*onUnsendablePart: "omit"/,
    );
    expect(front.requests).toHaveLength(0);
    const events = await eventsOf(conversation);
    expect(typesOf(events)).not.toContain("InferenceRequested");
    expect(dataOf(events, "RunFailed")).toMatchObject([{ kind: "part-unsendable" }]);
    expect((await conversation.turn()).blocks).toHaveLength(3);
  },
);

test("a file under an id goes to the server that answered it and to no other, which is on record or ends the run", async () => {
  const started = async (name: DialectName) => {
    const front = await dialects[name].start(() => ({ output: [message("Done.")] }));
    onTestFinished(() => front[Symbol.asyncDispose]());
    return { front, provider: dialects[name].provider(front.url, { model: "gpt-5.4", transport: "json" }) };
  };
  const [openai, claude] = [await started("responses"), await started("anthropic")];
  const { conversation } = createWorkshop({ codecs: [...dialects.responses.codecs, ...dialects.anthropic.codecs] });
  await conversation.append(user([text("Read."), file({ fileId: "file-1" })]));
  const run = (provider: Provider, config: Partial<EngineConfig> = {}) =>
    conversation.run(createEngine({ provider, mode: "stateless", ...config }), { again: true });
  await run(openai.provider);
  await conversation.append("And now?");
  await expect(run(claude.provider, { onUnsendablePart: "throw" })).rejects.toThrow(
    /part 1 \(file\) of block blk_\w+ cannot be sent to the provider anthropic: its id is one of openai-responses http:\S+, which keeps/,
  );
  expect(claude.front.requests).toHaveLength(0);
  const { losses } = await run(claude.provider);
  expect(losses.map((loss) => (loss.kind === "repair" ? loss.repair : null))).toEqual([
    { rule: "omit-parts", index: 0, detail: { parts: [1], reason: "unsendable" } },
  ]);
  await run(openai.provider);
  const sentIds = (requests: readonly { readonly bodyText: string }[]) =>
    requests.map(({ bodyText }) => bodyText.includes('"file_id":"file-1"'));
  expect([sentIds(openai.front.requests), sentIds(claude.front.requests)]).toEqual([[true, true], [false]]);
  expect(await conversation.verify()).toMatchObject({ isSound: true, requests: 3 });
});

test("a message that a codec sends whole or not at all ends the run, too, where it shows what the wire cannot say", async () => {
  const { front, engine, conversation } = await onTheWire("toy", { onUnsendablePart: "throw" });
  await using _ = front;
  await conversation.append("And?");
  await expect(conversation.run(engine)).rejects.toThrow(
    /: block blk_\S+ cannot be sent to the provider toy: the toy takes texts, and images of the user; remove it/,
  );
  expect(front.requests).toHaveLength(0);
});

test("createEngine knows two ways with such parts", () => {
  const config: object = { onUnsendablePart: "drop" };
  const { provider } = createWorkshop().scripted([]);
  expect(() => createEngine({ provider, ...config })).toThrow(/onUnsendablePart/);
});
