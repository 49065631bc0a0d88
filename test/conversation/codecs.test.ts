import { expect, test } from "vitest";
import { TurnlogStore } from "../../src/conversation/turnlog-store.ts";
import { createEngine } from "../../src/engine/options/create-engine.ts";
import { verifyStore } from "../../src/operations/audit/verify.ts";
import { responsesCodec } from "../../src/providers/responses/responses-codec.ts";
import { scripted } from "../../src/providers/scripted/scripted.ts";
import { replayFolds } from "../../src/replay/fold-replay.ts";
import { createMemoryStore } from "../../src/stores/memory/store.ts";

const codec = { ...responsesCodec, name: "of-another/1" };

/** A store with a conversation whose requests another provider's codec has encoded. */
async function talkedTo() {
  const events = createMemoryStore();
  const conversation = new TurnlogStore(events).conversation();
  await conversation.append("Hi");
  await conversation.run(createEngine({ provider: { ...scripted(["Hello."]), codec } }));
  return { events, id: conversation.id };
}

async function problemsOf(store: TurnlogStore): Promise<readonly string[]> {
  const problems: string[] = [];
  for await (const { problem } of verifyStore(store.events, { codecs: store.codecs }))
    if (problem !== null) problems.push(problem.message);
  return problems;
}

test("a store that was given another provider's codec has its requests verified and replayed", async () => {
  const { events, id } = await talkedTo();
  const store = new TurnlogStore(events, { codecs: [codec] });
  expect(await problemsOf(store)).toEqual([]);
  expect(await replayFolds(store.conversation(id))).toMatchObject({ requests: 1, difference: null });
});

test("without it the codec that is missing is named", async () => {
  const { events, id } = await talkedTo();
  const store = new TurnlogStore(events);
  await expect(replayFolds(store.conversation(id))).rejects.toThrow("'of-another/1'");
  expect(await problemsOf(store)).toEqual([expect.stringContaining("'of-another/1'")]);
});

test("a walk gives bodies with the codec, and without it says which is missing and goes on", async () => {
  const { events, id } = await talkedTo();
  const walkWith = async (codecs: readonly (typeof codec)[]) => {
    const walked = [];
    const conversation = new TurnlogStore(events, { codecs }).conversation(id);
    for await (const { type, problem, request } of conversation.walk()) walked.push({ type, problem, request });
    return walked;
  };
  const [asked] = (await walkWith([codec])).filter(({ type }) => type === "InferenceRequested");
  expect(asked).toMatchObject({ problem: null, request: { encoder: "of-another/1" } });
  const without = await walkWith([]);
  expect(without.find(({ type }) => type === "InferenceRequested")).toMatchObject({
    ...{ request: null, problem: expect.stringContaining("'of-another/1'") as string },
  });
  expect(without.at(-1)).toMatchObject({ type: "RunCompleted", problem: null });
});
