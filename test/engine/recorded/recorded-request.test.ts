import { expect, test } from "vitest";
import { cannedError, startReferenceServer } from "../../../packages/reference-server/src/server.ts";
import { createDemoEngine, demoQuestions, demoSystemPrompt } from "../../../src/apps/cli/demo/agent.ts";
import { answerAsTravelAgent } from "../../../src/apps/cli/demo/travel-agent.ts";
import { sha256Hex } from "../../../src/base/sha256.ts";
import type { Conversation } from "../../../src/conversation/conversation.ts";
import { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import type { RecordedEvent } from "../../../src/domain/events/recorded.ts";
import { system } from "../../../src/domain/make-block.ts";
import { createEngine } from "../../../src/engine/options/create-engine.ts";
import { plan } from "../../../src/engine/planning/plan.ts";
import type { PlanRequest } from "../../../src/engine/planning/plan-request.ts";
import { CheckedFold } from "../../../src/engine/recorded/checked-fold.ts";
import { rebuildRequest, recordedRequest } from "../../../src/engine/recorded/recorded-request.ts";
import { type ConversationView, conversationView } from "../../../src/projections/views/conversation-view.ts";
import { codecs } from "../../../src/providers/codecs.ts";
import { openaiResponses } from "../../../src/providers/responses/openai-responses.ts";
import { scripted } from "../../../src/providers/scripted/scripted.ts";
import { createMemoryStore } from "../../../src/stores/memory/store.ts";

type Seen = { readonly recorded: RecordedEvent; readonly view: ConversationView };

/** Calls back at every recorded request, with the folds as they are at its revision. */
async function atRequests<T>(conversation: Conversation, look: (seen: Seen) => T): Promise<readonly T[]> {
  const looks: T[] = [];
  let view = conversationView.initial("stream");
  for await (const recorded of conversation.history()) {
    view = conversationView.apply(view, recorded);
    if (recorded.event.type === "InferenceRequested") looks.push(look({ recorded, view }));
  }
  return looks;
}

test("gives the bytes that the server received, for chained, rebased, full and repeated requests", async () => {
  await using server = await startReferenceServer({ answer: answerAsTravelAgent });
  // The third request is refused for lost state, and repeated in full.
  server.inject(undefined, undefined, cannedError("previous-not-found"));
  const conversation = new TurnlogStore(createMemoryStore()).conversation();
  const engine = createDemoEngine(openaiResponses({ model: "m", baseURL: server.baseUrl, apiKey: "k" }));
  await conversation.append(system(demoSystemPrompt));
  for (const question of demoQuestions) {
    await conversation.append(question);
    await conversation.run(engine);
  }
  const rebuilt = await atRequests(conversation, ({ view, recorded }) => rebuildRequest(view, recorded, codecs));
  expect(rebuilt.map(({ bodyText }) => bodyText)).toEqual(server.requests.map(({ bodyText }) => bodyText));
  expect(rebuilt.map(({ digest }) => digest)).toEqual(server.requests.map(({ bodyText }) => sha256Hex(bodyText)));
  const names = await conversation.names();
  const folds = new CheckedFold("stream", codecs);
  for await (const recorded of conversation.history()) {
    expect(folds.take(recorded, names)).toBeNull();
    if (recorded.event.type === "InferenceRequested") expect(folds.checkRequest(recorded)).toBeNull();
  }
});

test("gives the body again later in the same run", async () => {
  const conversation = new TurnlogStore(createMemoryStore()).conversation();
  const provider = scripted([{ calls: [{ name: "nothing", arguments: "{}" }] }]);
  await conversation.append("Hello");
  await conversation.run(createEngine({ provider }));
  const [request] = await atRequests(conversation, (seen) => seen);
  let view = conversationView.initial("stream");
  const bodies: string[] = [];
  for await (const recorded of conversation.history()) {
    view = conversationView.apply(view, recorded);
    const isInRun = view.client.run !== null && recorded.revision >= (request?.recorded.revision ?? 0);
    if (isInRun && request !== undefined) bodies.push(rebuildRequest(view, request.recorded, codecs).bodyText);
  }
  expect(new Set(bodies)).toEqual(new Set([JSON.stringify(provider.requests[0])]));
  expect(bodies.length).toBeGreaterThan(1);
});

test("refuses a request whose codec is not at hand, instead of encoding it in another way", async () => {
  const conversation = new TurnlogStore(createMemoryStore()).conversation();
  await conversation.append("Hello");
  await conversation.run(createEngine({ provider: scripted(["Hi"]) }));
  await atRequests(conversation, ({ view, recorded }) => {
    expect(() => rebuildRequest(view, recorded, new Map())).toThrow(expect.objectContaining({ code: "unknown-codec" }));
  });
});

test("plans a request again as if everything had to be sent, or only the newest response were known", async () => {
  const conversation = new TurnlogStore(createMemoryStore()).conversation();
  const engine = createEngine({ provider: scripted(["one", "two"]) });
  for (const question of ["first", "second"]) {
    await conversation.append(question);
    await conversation.run(engine);
  }
  const plans = await atRequests(conversation, ({ view, recorded }) => {
    const strategy = (otherwise: Pick<PlanRequest, "full" | "candidates">): string =>
      plan({ ...recordedRequest(view, recorded, codecs), ...otherwise }).strategy;
    return [strategy({}), strategy({ full: "policy" }), strategy({ candidates: "newest" })];
  });
  expect(plans).toEqual([
    ["full", "full", "full"],
    ["chained", "full", "chained"],
  ]);
});
