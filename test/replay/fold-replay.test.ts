import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { cannedError, startReferenceServer } from "../../packages/reference-server/src/server.ts";
import { createDemoEngine, demoQuestions, demoSystemPrompt } from "../../src/apps/cli/demo/agent.ts";
import { answerAsTravelAgent } from "../../src/apps/cli/demo/travel-agent.ts";
import { isJsonObject, type JsonObject } from "../../src/base/json.ts";
import { TurnlogStore } from "../../src/conversation/turnlog-store.ts";
import { conversationStream } from "../../src/domain/ids.ts";
import { system } from "../../src/domain/make-block.ts";
import { createEngine } from "../../src/engine/options/create-engine.ts";
import { defineMiddleware } from "../../src/engine/ports/middleware.ts";
import { verifyStore } from "../../src/operations/audit/verify.ts";
import { codecs } from "../../src/providers/codecs.ts";
import { openaiResponses } from "../../src/providers/responses/openai-responses.ts";
import { scripted } from "../../src/providers/scripted/scripted.ts";
import { replayFolds } from "../../src/replay/fold-replay.ts";
import { openSqliteStore } from "../../src/stores/sqlite/store.ts";
import { changedData } from "../support/log/changed-data.ts";
import { replayed } from "../support/replayed.ts";
import { temporaryFolder } from "../support/stores/temporary-folder.ts";
import { createWorkshop, dataOf, eventsOf } from "../support/workshop.ts";

/** The demo's conversation in a file, with a chain that the server refused once. */
async function demoFile(): Promise<string> {
  const path = temporaryFolder().file("turnlog.db");
  await using server = await startReferenceServer({ answer: answerAsTravelAgent });
  server.inject(undefined, undefined, cannedError("previous-not-found"));
  await using store = new TurnlogStore(await openSqliteStore(path));
  const conversation = store.conversation("cnv_demo");
  const engine = createDemoEngine(openaiResponses({ model: "m", baseURL: server.baseUrl, apiKey: "k" }));
  await conversation.append(system(demoSystemPrompt));
  for (const question of demoQuestions) {
    await conversation.append(question);
    await conversation.run(engine);
  }
  return path;
}

async function replayFile(path: string) {
  await using store = new TurnlogStore(await openSqliteStore(path));
  return await replayed(store, store.conversation("cnv_demo"));
}

async function verifyFile(path: string): Promise<readonly (number | undefined)[]> {
  await using store = await openSqliteStore(path);
  const problems = [];
  for await (const { problem } of verifyStore(store, { codecs })) problems.push(problem?.revision);
  return problems;
}

/** Changes the data of the first event of a type; `rehash` as somebody does who knows that it is hashed. */
function tamper(path: string, type: string, change: (data: JsonObject) => JsonObject): number {
  const database = new DatabaseSync(path);
  try {
    const row = database
      .prepare("SELECT position, revision, version, data FROM events WHERE type = ? LIMIT 1")
      .get(type);
    const version = Number(row?.["version"]);
    const changed = changedData({ encoding: "lines", type, version, data: String(row?.["data"]) }, change);
    const update = database.prepare("UPDATE events SET data = ?, data_digest = ? WHERE position = ?");
    update.run(changed.data, changed.dataDigest, Number(row?.["position"]));
    return Number(row?.["revision"]);
  } finally {
    database.close();
  }
}

const member = (data: JsonObject, name: string): JsonObject => {
  const value = data[name];
  if (!isJsonObject(value)) throw new Error(`there is no ${name}`);
  return value;
};

const tamperings: readonly (readonly [string, string, (data: JsonObject) => JsonObject, string])[] = [
  [
    "what a user said",
    "BlockAppended",
    (data) => ({ block: { ...member(data, "block"), payload: { role: "user", content: "no" } } }),
    "block.digest",
  ],
  ["the settings", "SettingsDeclared", (data) => ({ ...data, settings: { model: "other" } }), "digest"],
  ["the Turn that a run began with", "RunStarted", (data) => ({ ...data, base: "0".repeat(64) }), "base"],
  ["what a layer handed on", "TurnEdited", (data) => ({ ...data, after: "0".repeat(64) }), "after"],
  [
    "a decision's strategy",
    "InferenceRequested",
    (data) => ({ ...data, decision: { ...member(data, "decision"), strategy: "rebased" } }),
    "decision.strategy",
  ],
  [
    "a decision's reason",
    "InferenceRequested",
    (data) => ({ ...data, decision: { ...member(data, "decision"), reason: "expired" } }),
    "decision.reason",
  ],
  [
    "how far back it is",
    "InferenceRequested",
    (data) => ({ ...data, decision: { ...member(data, "decision"), back: 7 } }),
    "decision.back",
  ],
  [
    "the context that was sent",
    "InferenceRequested",
    (data) => ({ ...data, input: { ...member(data, "input"), held: "0".repeat(64) } }),
    "input.held",
  ],
  [
    "the Turn that was asked about",
    "InferenceRequested",
    (data) => ({ ...data, input: { ...member(data, "input"), turn: "0".repeat(64) } }),
    "input.turn",
  ],
  [
    "the digest of a body",
    "InferenceRequested",
    (data) => ({ ...data, requestDigest: "0".repeat(64) }),
    "requestDigest",
  ],
  ["the length of a body", "InferenceRequested", (data) => ({ ...data, requestBytes: 1 }), "requestBytes"],
  [
    "the settings of a request",
    "InferenceRequested",
    (data) => ({ ...data, settingsDigest: "0".repeat(64) }),
    "settingsDigest",
  ],
  [
    "what an answer cost, which nothing is computed from",
    "ResponseReceived",
    (data) => ({ ...data, usage: { input_tokens: 1 } }),
    "digest",
  ],
  ["how a run ended", "RunCompleted", (data) => ({ ...data, after: "0".repeat(64) }), "after"],
];

test("finds no difference in what is as it was written", async () => {
  const path = await demoFile();
  await using store = new TurnlogStore(await openSqliteStore(path));
  const recorded = await eventsOf(store.conversation("cnv_demo"));
  const { difference, requests, events, turns } = await replayFile(path);
  const asked = dataOf(recorded, "InferenceRequested").length;
  expect({ difference, events, requests }).toEqual({ difference: null, events: recorded.length, requests: asked });
  expect(turns).toBeGreaterThan(asked);
  expect(await verifyFile(path)).toEqual([undefined]);
});

test.each(tamperings)("names the place where somebody changed %s", async (_, type, change, field) => {
  const path = await demoFile();
  const revision = tamper(path, type, change);
  expect((await replayFile(path)).difference).toMatchObject({ revision, field });
  expect(await verifyFile(path)).toEqual([revision]);
});

test("compares no further than the given revision, and reports a revision that does not exist", async () => {
  const path = await demoFile();
  const revision = tamper(path, "RunCompleted", (data) => ({ ...data, after: "0".repeat(64) }));
  await using store = new TurnlogStore(await openSqliteStore(path));
  const conversation = store.conversation("cnv_demo");
  expect((await replayed(store, conversation, { to: revision - 1 })).difference).toBeNull();
  expect((await replayed(store, conversation, { to: revision })).difference).toMatchObject({ revision });
  await expect(replayed(store, conversation, { to: 999 })).rejects.toMatchObject({ code: "revision-not-found" });
});

test("ends with an error at an event of an unknown version, or a body of an unknown codec", async () => {
  const path = await demoFile();
  await using store = new TurnlogStore(await openSqliteStore(path));
  const conversation = store.conversation("cnv_demo");
  const stream = conversationStream(conversation.id);
  await expect(replayFolds(conversation, { codecs: new Map() })).rejects.toMatchObject({ code: "unknown-codec" });
  const head = await store.events.head(stream);
  const event = { type: "SomethingNew", version: 7, data: {} };
  await store.log.append(stream, head, [{ event, actor: { kind: "app" } }]);
  const damage = replayFolds(conversation);
  await expect(damage).rejects.toMatchObject({ code: "conversation-damaged", revision: (head?.revision ?? 0) + 1 });
  await expect(damage).rejects.toThrow("SomethingNew");
});

test("plans under the policy that each run had", async () => {
  const { conversation, store } = createWorkshop();
  const edit = defineMiddleware({ name: "hasty", version: "1.0.0" }, (next) => (turn, ctx) => {
    ctx.instructions(`At ${ctx.frame} of ${ctx.runId}.`);
    return next(turn);
  });
  const policies = [
    { mode: "auto" },
    { chain: { onSettingsChange: { instructions: "full" } } },
    { mode: "stateless" },
    { chain: { maxAgeMs: 0 } },
  ] as const;
  const provider = scripted(policies.map(() => "Yes."));
  for (const policy of policies) {
    await conversation.append("Again.");
    await conversation.run(createEngine({ provider, middleware: [edit], ...policy }));
  }
  const reasons = dataOf(await eventsOf(conversation), "InferenceRequested").map(({ decision }) => decision.reason);
  expect(reasons.slice(0, 3)).toEqual(["first-request", "settings-changed", "policy"]);
  expect((await replayed(store, conversation)).difference).toBeNull();
});

test("plans again what an earlier refusal led to, where the attempt before it failed for another reason", async () => {
  const { conversation, store } = createWorkshop();
  const mismatch = { error: { status: 400, message: "No tool output found for function call c1." } };
  const busy = { error: { status: 503, message: "Busy." } };
  const provider = scripted(["One.", mismatch, "Two.", busy, "Three."]);
  const engine = createEngine({ provider, retry: { maxDelayMs: 0 } });
  await conversation.append("one");
  await conversation.run(engine);
  const answered = (await conversation.head())?.revision ?? 0;
  await conversation.append("two");
  await conversation.run(engine);
  await conversation.revertTo(answered);
  await conversation.append("three");
  await conversation.run(engine);
  const decisions = dataOf(await eventsOf(conversation), "InferenceRequested").map(({ decision }) => decision);
  expect(decisions.map(({ reason, rejected }) => [reason, rejected?.reason ?? null])).toEqual([
    ["first-request", null],
    [null, null],
    ["refused", "refused"],
    ["refused", "no-anchor"],
    ["refused", "no-anchor"],
  ]);
  expect((await replayed(store, conversation)).difference).toBeNull();
});
