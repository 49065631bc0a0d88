import { expect, test } from "vitest";
import * as z from "zod";
import { type Tool, tool } from "../../../src/engine/ports/tool.ts";
import { StoreUnavailableError } from "../../../src/log/ports/store-errors.ts";
import { type ScriptedAnswer, scripted } from "../../../src/providers/scripted/scripted.ts";
import { createWorkshop, freshStore, rejectionOf, storeKinds } from "../../support/workshop.ts";

const calls = (...names: readonly string[]): ScriptedAnswer => ({
  calls: names.map((name) => ({ name, arguments: {} })),
});

const answering = (name: string, execute: () => string | Promise<string>): Tool =>
  tool({ name, description: "A tool.", inputSchema: z.object({}), execute });

test.each(storeKinds)("a step without tools costs two appends (%s)", async (kind) => {
  const { conversation, watched, ...workshop } = createWorkshop({ events: await freshStore(kind) });
  await conversation.append("hello");
  await conversation.run(workshop.scripted(["hi"]).engine);
  expect(watched.written.slice(1)).toEqual([
    ["SettingsDeclared", "RunStarted", "InferenceRequested"],
    ["ResponseReceived", "RunCompleted"],
  ]);
});

test.each(storeKinds)("a step with tools that finish together costs three appends (%s)", async (kind) => {
  const { conversation, watched, ...workshop } = createWorkshop({ events: await freshStore(kind) });
  const tools = [answering("one", () => "1"), answering("two", async () => "2")];
  await conversation.append("hello");
  await conversation.run(workshop.scripted([calls("one", "two"), "done"], { tools }).engine);
  expect(watched.written.slice(1)).toEqual([
    ["SettingsDeclared", "RunStarted", "InferenceRequested"],
    ["ResponseReceived", "ToolStarted", "ToolStarted"],
    ["ToolFinished", "ToolFinished", "TurnEdited", "InferenceRequested"],
    ["ResponseReceived", "RunCompleted"],
  ]);
});

test("a result is durable while a slower tool still runs, and results keep the order of the calls", async () => {
  const slow = Promise.withResolvers<string>();
  const { conversation, watched, ...workshop } = createWorkshop();
  const tools = [answering("slow", () => slow.promise), answering("fast", () => "fast result")];
  await conversation.append("hello");
  const running = conversation.run(workshop.scripted([calls("slow", "fast"), "done"], { tools }).engine);
  await expect.poll(() => watched.written.at(-1)).toEqual(["ToolFinished"]);
  slow.resolve("slow result");
  const turn = await (await running).turn();
  expect(turn.blocks.filter(({ kind }) => kind === "tool_result").map(({ text }) => text)).toEqual([
    "slow result",
    "fast result",
  ]);
  expect(watched.written.slice(3)).toEqual([
    ["ToolFinished"],
    ["ToolFinished", "TurnEdited", "InferenceRequested"],
    ["ResponseReceived", "RunCompleted"],
  ]);
});

test("no provider is called before its request is durable", async () => {
  const provider = scripted(["never said"]);
  const { conversation, ...workshop } = createWorkshop({
    around: (prepared, append) =>
      prepared.envelopes.some(({ type }) => type === "InferenceRequested") ? new Promise(() => undefined) : append(),
  });
  await conversation.append("hello");
  conversation.run(workshop.engine({ provider })).catch(() => undefined);
  await new Promise(setImmediate);
  expect(provider.requests).toEqual([]);
});

test("no provider is called when the append of its request fails for good", async () => {
  const provider = scripted(["never said"]);
  const { conversation, ...workshop } = createWorkshop({
    around: async (prepared, append) => {
      if (prepared.envelopes.some(({ type }) => type === "InferenceRequested")) throw new StoreUnavailableError("down");
      return append();
    },
  });
  await conversation.append("hello");
  expect(await rejectionOf(conversation.run(workshop.engine({ provider })))).toMatchObject({
    code: "store-unavailable",
  });
  expect(provider.requests).toEqual([]);
});

test.each(["fails", "never answers"])("no tool runs when the append of its start %s", async (how) => {
  let runs = 0;
  const count = answering("count", () => {
    runs += 1;
    return "counted";
  });
  const { conversation, ...workshop } = createWorkshop({
    around: async (prepared, append) => {
      if (!prepared.envelopes.some(({ type }) => type === "ToolStarted")) return append();
      if (how === "never answers") return new Promise(() => undefined);
      throw new StoreUnavailableError("down");
    },
  });
  await conversation.append("hello");
  const { engine, provider } = workshop.scripted([calls("count"), "done"], { tools: [count] });
  const running = conversation.run(engine);
  if (how === "fails") expect(await rejectionOf(running)).toMatchObject({ code: "store-unavailable" });
  else await expect.poll(() => provider.requests.length).toBe(1);
  await new Promise(setImmediate);
  expect(runs).toBe(0);
});

test("what a user says is durable when append resolves, and not before", async () => {
  const written = Promise.withResolvers<undefined>();
  const { conversation, watched } = createWorkshop({
    around: async (_, append) => {
      await written.promise;
      return append();
    },
  });
  let isAppended = false;
  const appending = conversation.append("hello").then(() => {
    isAppended = true;
  });
  await new Promise(setImmediate);
  expect({ isAppended, written: watched.written }).toEqual({ isAppended: false, written: [] });
  written.resolve(undefined);
  await appending;
  expect(watched.written).toEqual([["ConversationStarted", "BlockAppended"]]);
});
