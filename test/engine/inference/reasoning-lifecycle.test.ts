import { expect, onTestFinished, test } from "vitest";
import { message } from "../../../packages/reference-server/src/server.ts";
import { isObject, objectsOf } from "../../../packages/reference-server/src/wire.ts";
import { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import type { ReasoningPolicy } from "../../../src/engine/options/reasoning-policy.ts";
import type { RunPart } from "../../../src/engine/options/run-part.ts";
import { defineMiddleware } from "../../../src/engine/ports/middleware.ts";
import { type ThinkingTalk, thinkingTalk, thoughtsRead } from "../../support/reasoning/thinking-talk.ts";
import { replayed } from "../../support/replayed.ts";
import { dataOf, eventsOf, rejectionOf } from "../../support/workshop.ts";

const stateless = { mode: "stateless" } as const;
const hourMs = 60 * 60 * 1000;

/** The reasoning items of a request's input. */
const sentReasoning = ({ server }: ThinkingTalk, index = -1) => {
  const body = server.requests.at(index)?.body;
  return isObject(body) ? objectsOf(body["input"]).filter(({ type }) => type === "reasoning") : [];
};

const omissions = async ({ conversation }: ThinkingTalk) =>
  (dataOf(await eventsOf(conversation), "InferenceRequested").at(-1)?.decision.repairs ?? [])
    .filter(({ rule }) => rule === "omit")
    .map(({ index, detail }) => [index, detail["reason"]]);

test("the first request carries no reasoning, and the first answer brings it", async () => {
  const talk = await thinkingTalk();
  await talk.say("one", stateless);
  expect(sentReasoning(talk)).toEqual([]);
  const blocks = (await talk.conversation.turn()).blocks.filter(({ kind }) => kind === "reasoning");
  expect(blocks.map(({ wire }) => wire?.ciphertext?.slice(0, 5))).toEqual(["gAAAA"]);
});

test("the reasoning of every answer is carried, the newest behind the older, byte for byte", async () => {
  const talk = await thinkingTalk();
  for (const text of ["one", "two", "three"]) await talk.say(text, stateless);
  const received = (await talk.conversation.turn()).blocks.flatMap(({ wire }) => wire?.ciphertext ?? []);
  expect(received).toHaveLength(3);
  expect(sentReasoning(talk).map((item) => item["encrypted_content"])).toEqual(received.slice(0, 2));
});

test("a request that carries reasoning older than a day warns, and says since when", async () => {
  const talk = await thinkingTalk();
  await talk.say("one", stateless);
  const at = new Date(talk.clock.now).toISOString();
  const parts: RunPart[] = [];
  const engine = talk.engine({
    provider: talk.provider(),
    ...stateless,
    observers: [{ next: (part) => parts.push(part) }],
  });
  const aged = () => parts.filter(({ type }) => type === "reasoning-aged");
  talk.clock.now += 24 * hourMs - 1;
  await talk.conversation.append("two");
  await talk.conversation.run(engine);
  expect(aged()).toEqual([]);
  talk.clock.now += 1;
  await talk.conversation.append("three");
  await talk.conversation.run(engine);
  expect(aged()).toMatchObject([{ blocks: 1, oldestAt: at }]);
});

test("the process is warned of old reasoning once for an engine", async () => {
  const warnings: string[] = [];
  const hear = ({ name, message: text }: Error): void => {
    if (name === "TurnlogWarning") warnings.push(text);
  };
  process.on("warning", hear);
  onTestFinished(() => void process.off("warning", hear));
  const talk = await thinkingTalk();
  const engine = talk.engine({ provider: talk.provider(), ...stateless });
  for (const text of ["one", "two", "three"]) {
    await talk.conversation.append(text);
    await talk.conversation.run(engine);
    talk.clock.now += 24 * hourMs;
  }
  await new Promise(setImmediate);
  expect(warnings).toEqual([expect.stringContaining("reasoning.keepForMs leaves out old reasoning")]);
});

test("the age from which it warns is the caller's", async () => {
  const talk = await thinkingTalk();
  const parts: RunPart[] = [];
  const observed = { ...stateless, observers: [{ next: (part: RunPart) => parts.push(part) }] };
  await talk.say("one", observed);
  talk.clock.now += hourMs;
  await talk.say("two", { ...observed, reasoning: { warnAfterMs: hourMs } });
  expect(parts.filter(({ type }) => type === "reasoning-aged")).toHaveLength(1);
  talk.clock.now += 100 * 24 * hourMs;
  await talk.say("three", { ...observed, reasoning: { warnAfterMs: Number.POSITIVE_INFINITY } });
  expect(parts.filter(({ type }) => type === "reasoning-aged")).toHaveLength(1);
});

test("a refused blob is dropped, and the request is sent once more without it", async () => {
  const talk = await thinkingTalk();
  await talk.say("one", stateless);
  const [blob] = sentReasoning(talk);
  expect(blob).toBeUndefined();
  const [thought] = (await talk.conversation.turn()).blocks.filter(({ kind }) => kind === "reasoning");
  const message = `The encrypted content for item ${thought?.wire?.itemId ?? ""} could not be verified.`;
  const body = { error: { message, type: "invalid_request_error", param: null, code: "invalid_encrypted_content" } };
  talk.server.inject({ kind: "answer", status: 400, body });
  await talk.say("two", stateless);
  expect(talk.server.requests.map(({ status }) => status)).toEqual([200, 400, 200]);
  expect([sentReasoning(talk, -2).length, sentReasoning(talk).length]).toEqual([1, 0]);
  const quarantined = dataOf(await eventsOf(talk.conversation), "ReasoningQuarantined");
  expect(quarantined).toMatchObject([{ blockIds: [thought?.id], reason: message }]);
});

test("what a server refuses of what it holds itself is left out of a whole request", async () => {
  const talk = await thinkingTalk({ checksReasoning: "refuses" });
  await talk.say("one");
  await talk.say("two", {}, { instructions: "Be kind." });
  expect(talk.server.requests.map(({ status }) => status)).toEqual([200, 400, 200]);
  expect(sentReasoning(talk)).toEqual([]);
  await talk.say("three", {}, { instructions: "Be kind." });
  expect(talk.server.requests.at(-1)?.status).toBe(200);
  expect((await replayed(talk.store, talk.conversation)).difference).toBeNull();
});

test("reasoning that has outlived its time is left out, recorded as expired, and stays in the Turn", async () => {
  const talk = await thinkingTalk();
  const brief = { ...stateless, reasoning: { keepForMs: hourMs } };
  await talk.say("one", brief);
  talk.clock.now += hourMs / 2;
  await talk.say("two", brief);
  expect(sentReasoning(talk)).toHaveLength(1);
  talk.clock.now += hourMs / 2;
  await talk.say("three", brief);
  expect(sentReasoning(talk)).toHaveLength(1);
  expect(await omissions(talk)).toEqual([[1, "expired"]]);
  expect((await talk.conversation.turn()).blocks.filter(({ kind }) => kind === "reasoning")).toHaveLength(3);
  expect((await talk.conversation.verify()).isSound).toBe(true);
  expect((await replayed(talk.store, talk.conversation)).difference).toBeNull();
});

test("a reset is an event; from there on no request carries the reasoning, or continues from where a server holds it", async () => {
  const talk = await thinkingTalk();
  await talk.say("one");
  await talk.say("two");
  expect(thoughtsRead(talk.server)).toBe(1);
  expect(await talk.conversation.resetReasoning()).toHaveLength(2);
  await talk.say("three");
  expect(thoughtsRead(talk.server)).toBe(0);
  const events = await eventsOf(talk.conversation);
  expect(dataOf(events, "ReasoningQuarantined")).toMatchObject([{ reason: "reset" }]);
  expect(dataOf(events, "AnchorInvalidated")).toMatchObject([{ anchor: null, reason: "reset" }]);
  await talk.say("four");
  expect((await replayed(talk.store, talk.conversation)).difference).toBeNull();
  // Of the answers since, the server holds the reasoning as before.
  expect(thoughtsRead(talk.server)).toBe(1);
  expect(dataOf(await eventsOf(talk.conversation), "InferenceRequested").at(-1)?.decision.strategy).toBe("chained");
});

test("a reset of a conversation without reasoning writes nothing", async () => {
  const talk = await thinkingTalk();
  await talk.conversation.append("one");
  expect(await talk.conversation.resetReasoning()).toEqual([]);
  expect(await eventsOf(talk.conversation)).toHaveLength(2);
});

test("another model is not sent what it cannot read; the first one is sent its own again", async () => {
  const talk = await thinkingTalk({ checksReasoning: "withholds" });
  await talk.say("one", stateless, { model: "m" });
  await talk.say("two", stateless, { model: "n" });
  expect(sentReasoning(talk)).toEqual([]);
  expect(await omissions(talk)).toEqual([[1, "other-model"]]);
  await talk.say("three", stateless, { model: "m" });
  expect(sentReasoning(talk)).toHaveLength(1);
  expect(await omissions(talk)).toEqual([[4, "other-model"]]);
  expect((await replayed(talk.store, talk.conversation)).difference).toBeNull();
  expect(thoughtsRead(talk.server)).toBe(1);
});

test("models that read each other's reasoning, as the caller says, are sent it", async () => {
  const talk = await thinkingTalk();
  const family = { ...stateless, chain: { onSettingsChange: { model: "chain" } } } as const;
  await talk.say("one", family, { model: "m" });
  await talk.say("two", family, { model: "m-2026-10-01" });
  expect(sentReasoning(talk)).toHaveLength(1);
});

test("another endpoint is not sent what is not its own, recorded as foreign", async () => {
  const talk = await thinkingTalk();
  await talk.say("one", stateless);
  await talk.say("two", stateless, { organization: "other" });
  expect(sentReasoning(talk)).toEqual([]);
  expect(await omissions(talk)).toEqual([[1, "foreign"]]);
});

test("reasoning survives saving and loading: another process carries it on byte for byte", async () => {
  const talk = await thinkingTalk();
  await talk.say("one", stateless);
  await using store = new TurnlogStore(talk.watched);
  const copy = store.conversation(talk.conversation.id);
  const [before] = (await talk.conversation.turn()).blocks.flatMap(({ wire }) => wire?.ciphertext ?? []);
  await copy.append("two");
  await copy.run(talk.engine({ provider: talk.provider(), ...stateless }));
  expect(sentReasoning(talk).map((item) => item["encrypted_content"])).toEqual([before]);
});

test("blobs of 100 KB go through the log, a second process and the next requests, byte for byte", async () => {
  const blob = (request: number): string => `gAAAAAB${String(request).repeat(100_000)}`;
  const talk = await thinkingTalk({
    verifiesCiphertexts: false,
    answer: ({ request }) => ({
      output: [
        { item: { type: "reasoning", summary: [], encrypted_content: blob(request) }, isEncrypted: false },
        message(`answer ${request}`),
      ],
    }),
  });
  for (const text of ["one", "two"]) await talk.say(text, stateless);
  await using store = new TurnlogStore(talk.watched);
  const copy = store.conversation(talk.conversation.id);
  await copy.append("three");
  await copy.run(talk.engine({ provider: talk.provider(), ...stateless }));
  expect(sentReasoning(talk).map((item) => item["encrypted_content"])).toEqual([blob(0), blob(1)]);
  expect((await copy.verify()).problems).toEqual([]);
  expect((await replayed(store, copy)).difference).toBeNull();
});

test("a life that is counted in exchanges is a layer's, and no server minds what it leaves out", async () => {
  const talk = await thinkingTalk({ checksReasoning: "refuses" });
  const forget = defineMiddleware({ name: "forget", version: "1.0.0" }, (next) => (turn) => {
    const { start = 0 } = turn.exchanges.at(-2) ?? {};
    return next(turn.with(turn.blocks.filter(({ kind }, index) => kind !== "reasoning" || index >= start)));
  });
  for (const text of ["one", "two", "three", "four"]) await talk.say(text, { ...stateless, middleware: [forget] });
  expect(talk.server.requests.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  expect(talk.server.requests.map((_, index) => sentReasoning(talk, index).length)).toEqual([0, 1, 1, 1]);
});

test("everything works without blobs: none is asked for, none is carried", async () => {
  const talk = await thinkingTalk();
  const bare = { capabilities: { encryptedReasoning: false }, store: false };
  for (const text of ["one", "two", "three"]) await talk.say(text, stateless, bare);
  expect(talk.server.requests.map(({ status }) => status)).toEqual([200, 200, 200]);
  expect(talk.server.requests.some(({ bodyText }) => bodyText.includes("encrypted"))).toBe(false);
  expect(sentReasoning(talk)).toEqual([]);
});

test("a layer may leave a blob out, and what it changes of reasoning is not sent as the provider's", async () => {
  const talk = await thinkingTalk();
  await talk.say("one", stateless);
  const rewrite = defineMiddleware(
    { name: "rewrite", version: "1.0.0" },
    (next) => (turn) =>
      next(turn.map((block) => (block.kind === "reasoning" ? block.withText("Think otherwise.") : block))),
  );
  await talk.say("two", { ...stateless, middleware: [rewrite] });
  expect(talk.server.requests.at(-1)?.bodyText).not.toContain("Think otherwise.");
  expect(sentReasoning(talk)).toEqual([]);
});

test("nothing is stored at the server: what the client holds is all that carries the thinking on", async () => {
  const talk = await thinkingTalk({ zdr: true });
  for (const text of ["one", "two", "three"]) await talk.say(text, stateless);
  expect(talk.server.requests.every(({ bodyText }) => bodyText.includes('"store":false'))).toBe(true);
  expect(talk.server.requests.some(({ bodyText }) => bodyText.includes("previous_response_id"))).toBe(false);
  expect(thoughtsRead(talk.server)).toBe(2);
});

test("what can be read of reasoning is its summary; a ciphertext is in no text that is shown or searched", async () => {
  const talk = await thinkingTalk();
  await talk.say("one", stateless);
  const [thought] = (await talk.conversation.turn()).blocks.filter(({ kind }) => kind === "reasoning");
  expect(thought?.text).toBe("thought 0");
  const found = await talk.store.search(thought?.wire?.ciphertext ?? "none");
  expect(found.hits).toEqual([]);
});

test("the thinking goes on over three turns, as it does not without blobs", async () => {
  const read = async (encryptedReasoning: boolean): Promise<readonly number[]> => {
    const talk = await thinkingTalk();
    const counts: number[] = [];
    for (const text of ["one", "two", "three"]) {
      await talk.say(text, stateless, { capabilities: { encryptedReasoning } });
      counts.push(thoughtsRead(talk.server));
    }
    return counts;
  };
  expect(await read(true)).toEqual([0, 1, 2]);
  expect(await read(false)).toEqual([0, 0, 0]);
});

test.each<readonly [ReasoningPolicy & Readonly<Record<string, number>>, RegExp]>([
  [{ warnAfterMs: 0 }, /createEngine: reasoning.warnAfterMs is/],
  [{ keepForMs: Number.NaN }, /createEngine: reasoning.keepForMs is/],
  [{ keepMs: 1 }, /keepMs/],
])("a policy that cannot be meant is refused when the engine is made: %j", async (reasoning, message) => {
  const talk = await thinkingTalk();
  expect(String(await rejectionOf(talk.say("one", { reasoning })))).toMatch(message);
});
