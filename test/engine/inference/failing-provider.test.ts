import { describe, expect, test } from "vitest";
import { assistant } from "../../../src/domain/make-block.ts";
import type { InferenceResponse, Provider } from "../../../src/engine/ports/provider.ts";
import { defineCodec } from "../../../src/providers/codec/define-codec.ts";
import { scripted } from "../../../src/providers/scripted/scripted.ts";
import { reexecute } from "../../../src/replay/re-execute.ts";
import { replayed } from "../../support/replayed.ts";
import { createScene, dieAt } from "../../support/run/scene.ts";
import { throwNothing } from "../../support/run/tool-runs.ts";
import { createWorkshop, dataOf, eventsOf, rejectionOf, typesOf } from "../../support/workshop.ts";

const bug = new TypeError("my provider's bug");

/** A provider that does this where it should ask a server. */
const doing = (infer: Provider["infer"]): Provider => ({ ...scripted([]), infer });

describe.each<[string, Provider["infer"], string]>([
  ["throws what is no error of a provider", () => Promise.reject(bug), bug.message],
  [
    "throws at once",
    () => {
      throw bug;
    },
    bug.message,
  ],
  ["throws what has no text", throwNothing, "the thrown value has no message"],
  [
    "gives no response",
    async () => ({}) as InferenceResponse,
    "the provider gave no response: infer must return { response }, a JSON object",
  ],
])("a provider that %s", (_, infer, message) => {
  test("has failed: the request is answered so, and the run ends by it", async () => {
    const { conversation, ...workshop } = createWorkshop();
    await conversation.append("hello");
    const outcome = await rejectionOf(conversation.run(workshop.engine({ provider: doing(infer) })));
    expect(outcome).toMatchObject({ code: "run-failed", kind: "provider-failed", cause: { message } });
    const events = await eventsOf(conversation);
    expect(typesOf(events).slice(-3)).toEqual(["InferenceRequested", "InferenceFailed", "RunFailed"]);
    expect(dataOf(events, "InferenceFailed")).toMatchObject([{ kind: "provider-failed", outcome: "unknown", message }]);
    expect(dataOf(events, "RunFailed")).toMatchObject([{ kind: "provider-failed", message }]);
  });

  test("does not make the log another one", async () => {
    const { conversation, store, ...workshop } = createWorkshop();
    await conversation.append("hello");
    const engine = workshop.engine({ provider: doing(infer) });
    await rejectionOf(conversation.run(engine));
    expect((await reexecute(conversation, engine)).difference).toBeNull();
    expect((await replayed(store, conversation)).difference).toBeNull();
  });
});

test("a response that its codec cannot read is on record as it came", async () => {
  const codec = defineCodec({
    name: "mine/1",
    encodeRequest: () => "{}",
    readAnswer: () => {
      throw new Error("no choices");
    },
    writeAnswer: ({ rest }) => rest,
  });
  const response = { said: ["Hello."] };
  const { conversation, ...workshop } = createWorkshop();
  await conversation.append("hello");
  const engine = workshop.engine({ provider: { ...doing(async () => ({ response })), codec } });
  await rejectionOf(conversation.run(engine));
  expect(dataOf(await eventsOf(conversation), "InferenceFailed")).toMatchObject([{ body: response }]);
});

/** As JavaScript has it: the type has no undefined. */
const notTold: object = { inputTokens: undefined };

test("tokens that a codec says are undefined are those that the server did not tell", async () => {
  const codec = defineCodec({
    name: "mine/1",
    encodeRequest: () => "{}",
    readAnswer: (rest) => ({
      ...{ id: null, status: null, isComplete: true, blocks: [assistant("Hello.")], rest },
      usage: { outputTokens: 2, reported: null, ...notTold },
    }),
    writeAnswer: ({ rest }) => rest,
  });
  const { conversation, ...workshop } = createWorkshop();
  await conversation.append("hello");
  const engine = workshop.engine({ provider: { ...doing(async () => ({ response: {} })), codec } });
  expect((await conversation.run(engine)).usage).toMatchObject({ inputTokens: 0, outputTokens: 2 });
});

test("what a provider threw is the cause of the run's failure", async () => {
  const { conversation, ...workshop } = createWorkshop();
  await conversation.append("hello");
  const engine = workshop.engine({ provider: doing(() => Promise.reject(bug)) });
  expect(await rejectionOf(conversation.run(engine))).toMatchObject({ cause: { name: "ProviderError", cause: bug } });
});

test("a provider that lets the abort through was aborted", async () => {
  const abort = new AbortController();
  const provider = doing(async ({ signal }) => {
    abort.abort(new Error("enough"));
    signal.throwIfAborted();
    return { response: {} };
  });
  const { conversation, ...workshop } = createWorkshop();
  await conversation.append("hello");
  const run = conversation.run(workshop.engine({ provider }), { signal: abort.signal });
  expect(await rejectionOf(run)).toMatchObject({ code: "run-cancelled" });
  expect(dataOf(await eventsOf(conversation), "InferenceFailed")).toMatchObject([
    { kind: "aborted", outcome: "unknown" },
  ]);
});

test("a provider that fails to fetch a response cancels it, because no caller waits any more", async () => {
  const cancelled: string[] = [];
  const provider: Provider = {
    ...doing(async ({ onStarted }) => {
      await onStarted?.("resp_slow");
      return { response: {} };
    }),
    waitFor: () => Promise.reject(bug),
    async cancel(id) {
      cancelled.push(id);
    },
  };
  const scene = createScene([], { provider });
  const first = scene.process();
  await first.conversation.append("hello");
  const isStarted = (event: { readonly type: string }): boolean => event.type === "ResponseStarted";
  await dieAt(
    first,
    (stop) => stop.kind === "append" && stop.phase === "after" && stop.entries.some((entry) => isStarted(entry.event)),
  );
  const { conversation, engine } = scene.process();
  expect(await rejectionOf(conversation.run(engine))).toMatchObject({ kind: "provider-failed" });
  expect(dataOf(await eventsOf(conversation), "InferenceFailed")).toMatchObject([{ kind: "provider-failed" }]);
  expect(cancelled).toEqual(["resp_slow"]);
});

test("an answer that does not say what it continued from is learnt as such, with what to say of a server that never does", async () => {
  const codec = defineCodec({
    name: "mine/1",
    encodeRequest: ({ anchor }) => JSON.stringify({ after: anchor?.id ?? null }),
    readAnswer: (rest) => ({
      ...{ id: "a", status: null, isComplete: true, blocks: [assistant("Hello.")], rest },
      anchor: { kind: "response", id: "a" },
    }),
    writeAnswer: ({ rest }) => rest,
  });
  const provider = { ...doing(async () => ({ response: {} })), codec, capabilities: { chain: true } };
  const { conversation, ...workshop } = createWorkshop();
  for (const text of ["hello", "and now?"]) {
    await conversation.append(text);
    await conversation.run(workshop.engine({ provider }));
  }
  const learnt = dataOf(await eventsOf(conversation), "CapabilityLearned");
  expect(learnt).toMatchObject([{ capability: "chain", value: false }]);
  expect(learnt[0]?.reason).toContain('capabilities: { echo: "none" }');
});
