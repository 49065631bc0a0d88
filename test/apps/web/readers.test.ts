import { expect, test } from "vitest";
import * as z from "zod";
import { createChat } from "../../../src/apps/web/create-chat.ts";
import type { LiveChannel } from "../../../src/apps/web/live-channel.ts";
import { openStore } from "../../../src/conversation/open-store.ts";
import { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import { createEngine } from "../../../src/engine/options/create-engine.ts";
import { defineMiddleware } from "../../../src/engine/ports/middleware.ts";
import { tool } from "../../../src/engine/ports/tool.ts";
import { contentFilter } from "../../../src/middleware/content-filter.ts";
import { type ScriptedAnswer, scripted } from "../../../src/providers/scripted/scripted.ts";
import { createMemoryStore } from "../../../src/stores/memory/store.ts";
import { Page, withoutPageIds } from "../../support/web/page.ts";
import { pausing } from "../../support/web/pausing.ts";

const access = () => ({ actor: { kind: "user", name: "ann" }, labels: {} }) as const;
const story = "Once upon a time there was a log that nobody had to remember.";

async function scene(answers: readonly ScriptedAnswer[]) {
  const store = await openStore("memory:");
  const provider = pausing(answers);
  const chat = createChat({ store, engine: createEngine({ provider }), access });
  return { store, provider, chat, [Symbol.asyncDispose]: () => store.close() };
}

/** The bytes of an answer. */
function readerOf({ body }: Response): ReadableStreamDefaultReader<Uint8Array> {
  if (body === null) throw new Error("no body");
  return body.getReader();
}

/** Waits until a page shows a text. */
async function untilShown(page: Page, isShown: (text: string) => boolean): Promise<void> {
  while (!isShown(page.texts.at(-1) ?? "")) await new Promise((resolve) => setImmediate(resolve));
}

test("a page that is loaded again in the middle of an answer shows what came before, and ends as the first one", async () => {
  await using made = await scene([story]);
  const first = new Page(made.chat, { id: "c1" });
  const sent = first.sendMessage({ text: "A story!" });
  await made.provider.halfTold(0);
  const second = await Page.load(made.chat, "c1");
  expect(second.texts).toEqual(["user: A story!"]);
  const resumed = second.resumeStream();
  await untilShown(second, (text) => text.startsWith("assistant: Once"));
  expect(second.texts.at(-1)).not.toContain("remember");
  made.provider.goOn(0);
  await Promise.all([sent, resumed]);
  expect(second.texts.at(-1)).toBe(`assistant: ${story}`);
  expect(withoutPageIds(second.messages)).toEqual(withoutPageIds(first.messages));
});

test("a reader that leaves does no harm to the run, and one that comes after its end gets the whole answer", async () => {
  await using made = await scene([story]);
  const leaving = new AbortController();
  const request = { method: "POST", headers: { "content-type": "application/json" } };
  const body = JSON.stringify({
    id: "c1",
    messages: [{ id: "m1", role: "user", parts: [{ type: "text", text: "A story!" }] }],
  });
  const response = await made.chat.fetch(
    new Request("http://chat.test/api/chat", { ...request, body, signal: leaving.signal }),
  );
  const reader = response.body?.getReader();
  await reader?.read();
  await made.provider.halfTold(0);
  await reader?.cancel();
  leaving.abort();
  made.provider.goOn(0);
  const page = await Page.load(made.chat, "c1");
  await page.resumeStream();
  expect(page.texts).toEqual(["user: A story!", `assistant: ${story}`]);
});

test("a slow reader gets the same message in a few large pieces", async () => {
  await using made = await scene([story]);
  const fast = new Page(made.chat, { id: "c1" });
  const sent = fast.sendMessage({ text: "A story!" });
  await made.provider.halfTold(0);
  const response = await made.chat.fetch(new Request("http://chat.test/api/chat/c1/stream"));
  const reader = readerOf(response);
  const pieces = [new TextDecoder().decode((await reader.read()).value)];
  made.provider.goOn(0);
  await sent;
  for (let next = await reader.read(); !next.done; next = await reader.read())
    pieces.push(new TextDecoder().decode(next.value));
  expect(pieces.length).toBeLessThan(5);
  const deltas = [...pieces.join("").matchAll(/"type":"text-delta","id":"0.0","delta":("[^"]*")/g)];
  expect(deltas.map(([, delta = ""]) => String(JSON.parse(delta))).join("")).toBe(story);
});

test.each(["inside", "outside"] as const)(
  "a page never shows what a filter with a check %s blocks or takes out, not even in the middle of the run",
  async (where) => {
    const check = (text: string) => {
      const action = text.includes("bomb") ? "block" : "redact";
      return text.includes("bomb") || text.includes("Ada")
        ? ({ reason: "no", values: ["Ada"], action } as const)
        : null;
    };
    const checked = Promise.withResolvers<null>();
    const filter = contentFilter({
      check: (text) => (where === "inside" ? check(text) : checked.promise.then(() => check(text))),
      direction: "after",
      outside: where === "outside",
    });
    await using store = await openStore("memory:");
    const seen: string[] = [];
    const slow = defineMiddleware({ name: "slow", version: "1.0.0" }, (next) => async (turn) => {
      const answer = await next(turn);
      // Whole, recorded, and not yet through the layers.
      for (let n = 0; n < 20; n += 1) await new Promise((resolve) => setImmediate(resolve));
      seen.push(await (await chat.fetch(new Request("http://chat.test/api/chat/c1"))).text());
      checked.resolve(null);
      return answer;
    });
    const engine = createEngine({
      provider: scripted(["Ask Ada, please.", "It is a bomb."]),
      middleware: [filter, slow],
    });
    const chat = createChat({ store, engine, access });
    for (const [n, said] of ["Who?", "What?"].entries()) {
      const message = { id: `m${n}`, role: "user", parts: [{ type: "text", text: said }] };
      const body = JSON.stringify({ id: "c1", messages: [message] });
      const headers = { "content-type": "application/json" };
      const request = new Request("http://chat.test/api/chat", { method: "POST", headers, body });
      seen.push(await (await chat.fetch(request)).text());
    }
    expect(seen).toHaveLength(4);
    expect(seen.join("")).not.toMatch(/Ada|bomb/);
    expect(seen.join("")).toContain("Ask [removed], please.");
    const page = await Page.load(chat, "c1");
    expect(page.texts).toEqual(["user: Who?", "assistant: Ask [removed], please.", "user: What?"]);
  },
);

test("stop ends the run, and every page sees that", async () => {
  await using made = await scene([story]);
  const first = new Page(made.chat, { id: "c1" });
  const sent = first.sendMessage({ text: "A story!" });
  await made.provider.halfTold(0);
  const second = await Page.load(made.chat, "c1");
  const resumed = second.resumeStream();
  const reading = made.chat
    .fetch(new Request("http://chat.test/api/chat/c1/stream"))
    .then((response) => response.text());
  await untilShown(second, (text) => text.startsWith("assistant: Once"));
  const stopped = await first.fetch("/api/chat/c1/stop", { method: "POST" });
  expect(await stopped.json()).toEqual({ status: "cancelled" });
  await Promise.all([sent, resumed]);
  const [, said = ""] = /"type":"data-stopped","data":{"messageId":"[^"]+","text":"([^"]+)"}/.exec(await reading) ?? [];
  expect(said).not.toBe("");
  expect(story.startsWith(said)).toBe(true);
  for (const page of [first, second]) expect(page.data).toEqual(["data-stopped"]);
  const loaded = await Page.load(made.chat, "c1");
  for (const page of [first, second]) {
    expect(page.status).toBe("ready");
    expect(
      withoutPageIds(page.messages.filter(({ parts }) => parts.some(({ type }) => type !== "step-start"))),
    ).toEqual(withoutPageIds(loaded.messages));
  }
});

test("stop keeps the step whose tool has begun, as the Turn has it, and nothing else is taken back", async () => {
  await using store = await openStore("memory:");
  const begun = Promise.withResolvers<null>();
  const wait = tool({
    name: "wait",
    description: "Waits",
    inputSchema: z.object({}),
    execute: (_input, { signal }) => {
      begun.resolve(null);
      return new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("stopped"))));
    },
  });
  const provider = scripted([{ text: "I wait.", calls: [{ name: "wait", arguments: {} }] }]);
  const chat = createChat({ store, engine: createEngine({ provider, tools: [wait] }), access });
  const page = new Page(chat, { id: "c1" });
  const sent = page.sendMessage({ text: "Wait!" });
  await begun.promise;
  await page.fetch("/api/chat/c1/stop", { method: "POST" });
  await sent;
  expect(page.data).toEqual([]);
  expect(page.texts).toEqual(["user: Wait!", "assistant: I wait."]);
  expect(page.messages[1]?.parts.at(-1)).toMatchObject({ toolName: "wait", state: "output-error" });
  expect(withoutPageIds(page.messages)).toEqual(withoutPageIds((await Page.load(chat, "c1")).messages));
  expect((await store.conversation("c1").turn()).blocks.map(({ kind }) => kind)).toEqual([
    "user",
    "assistant",
    "tool_call",
    "tool_result",
  ]);
});

test("stop ends a run that has not begun yet", async () => {
  await using made = await scene([story]);
  const page = new Page(made.chat, { id: "c1" });
  await made.store.conversation("c1").append("An earlier message.");
  const stopped = page.fetch("/api/chat/c1/stop", { method: "POST" });
  const sent = page.sendMessage({ text: "A story!" });
  expect(await (await stopped).json()).toEqual({ status: "cancelled" });
  await sent;
  expect(page.texts).toEqual(["user: A story!", "assistant: "]);
});

test("a run that was cut off is taken up by the page that asks for its stream", async () => {
  const events = createMemoryStore();
  await using store = new TurnlogStore(events);
  const engine = createEngine({ provider: scripted([story, story]) });
  const conversation = store.conversation("c1");
  await conversation.append("A story!");
  for await (const stop of conversation.step(engine)) if (stop.kind === "inference") break;
  const page = await Page.load(createChat({ store, engine, access }), "c1");
  expect(page.texts).toEqual(["user: A story!"]);
  await page.resumeStream();
  expect(page.texts).toEqual(["user: A story!", `assistant: ${story}`]);
});

test("a message whose process died before a run began is answered for the page that asks for its stream", async () => {
  await using store = await openStore("memory:");
  await store.conversation("c1").append("A story!");
  const page = await Page.load(
    createChat({ store, engine: createEngine({ provider: scripted([story]) }), access }),
    "c1",
  );
  await page.resumeStream();
  expect(page.texts).toEqual(["user: A story!", `assistant: ${story}`]);
});

test("a page that looks after a failure sees it, and does not ask the model again", async () => {
  await using store = await openStore("memory:");
  const provider = scripted([{ error: { status: 400, message: "refused" } }, story]);
  const chat = createChat({ store, engine: createEngine({ provider, retry: { maxRetries: 0 } }), access });
  const page = new Page(chat, { id: "c1" });
  await page.sendMessage({ text: "A story!" });
  const other = await Page.load(chat, "c1");
  await other.resumeStream();
  expect([page.status, other.status]).toEqual(["error", "error"]);
  expect(provider.requests).toHaveLength(1);
  await page.regenerate();
  expect(page.texts).toEqual(["user: A story!", `assistant: ${story}`]);
});

test("a conversation in which nothing is being answered has no stream", async () => {
  const nowMs = { at: Date.UTC(2026, 0, 1) };
  await using store = new TurnlogStore(createMemoryStore(), { clock: () => nowMs.at });
  const chat = createChat({
    store,
    engine: createEngine({ provider: scripted([story]), clock: () => nowMs.at }),
    access,
  });
  const page = new Page(chat, { id: "c1" });
  await page.sendMessage({ text: "A story!" });
  const stream = async (): Promise<number> => (await page.fetch("/api/chat/c1/stream")).status;
  // A page that has loaded its messages just before the end asks for the rest just after it.
  expect(await stream()).toBe(200);
  nowMs.at += 31_000;
  expect(await stream()).toBe(204);
});

/** The parts of a client of Redis that the channel of docs/WEB.md uses; it loses and repeats what `unreliable` says. */
function pubSub(isUnreliable: (n: number) => "lost" | "twice" | "sound" = () => "sound") {
  const listeners = new Map<string, Set<(text: string) => void>>();
  let n = 0;
  return {
    published: [] as string[],
    async publish(name: string, text: string): Promise<void> {
      this.published.push(text);
      n += 1;
      const how = isUnreliable(n);
      for (let times = how === "lost" ? 0 : how === "twice" ? 2 : 1; times > 0; times -= 1)
        for (const listen of listeners.get(name) ?? []) listen(text);
    },
    async subscribe(name: string, listen: (text: string) => void): Promise<void> {
      listeners.set(name, (listeners.get(name) ?? new Set()).add(listen));
    },
    async unsubscribe(name: string, listen: (text: string) => void): Promise<void> {
      listeners.get(name)?.delete(listen);
    },
  };
}

const channelOver = (redis: ReturnType<typeof pubSub>): LiveChannel => ({
  publish: (conversation, text) => redis.publish(`chat:${conversation}`, text),
  async subscribe(conversation, onText) {
    await redis.subscribe(`chat:${conversation}`, onText);
    return () => redis.unsubscribe(`chat:${conversation}`, onText);
  },
});

test("text that arrives reaches a page of another process through the channel, also one that comes late", async () => {
  const events = createMemoryStore();
  await using one = new TurnlogStore(events);
  await using two = new TurnlogStore(events);
  const provider = pausing([story]);
  const redis = pubSub();
  const chats = [one, two].map((store) =>
    createChat({ store, engine: createEngine({ provider }), access, live: channelOver(redis) }),
  );
  const [first, second] = chats;
  if (first === undefined || second === undefined) throw new Error("two chats");
  const page = new Page(first, { id: "c1" });
  const sent = page.sendMessage({ text: "A story!" });
  await provider.halfTold(0);
  const other = await Page.load(second, "c1");
  const resumed = other.resumeStream();
  await untilShown(other, (text) => text.startsWith("assistant: Once"));
  provider.goOn(0);
  await Promise.all([sent, resumed]);
  expect(withoutPageIds(other.messages)).toEqual(withoutPageIds(page.messages));
});

test("a channel that loses, repeats or fails changes nothing about the message", async () => {
  const kinds = ["lost", "twice", "sound"] as const;
  for (const fails of [false, true]) {
    const events = createMemoryStore();
    await using one = new TurnlogStore(events);
    await using two = new TurnlogStore(events);
    const provider = pausing([story]);
    const redis = pubSub((n) => kinds[n % 3] ?? "sound");
    const broken: LiveChannel = {
      publish: () => Promise.reject(new Error("down")),
      subscribe: () => Promise.reject(new Error("down")),
    };
    const [first, second] = [one, two].map((store) =>
      createChat({ store, engine: createEngine({ provider }), access, live: fails ? broken : channelOver(redis) }),
    );
    if (first === undefined || second === undefined) throw new Error("two chats");
    const page = new Page(first, { id: "c1" });
    const sent = page.sendMessage({ text: "A story!" });
    await provider.halfTold(0);
    const other = await Page.load(second, "c1");
    const resumed = other.resumeStream();
    provider.goOn(0);
    await Promise.all([sent, resumed]);
    expect(other.texts.at(-1)).toBe(`assistant: ${story}`);
    expect(withoutPageIds(other.messages)).toEqual(withoutPageIds(page.messages));
  }
});
