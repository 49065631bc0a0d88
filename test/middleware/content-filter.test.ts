import { expect, test } from "vitest";
import type { RunPart } from "../../src/engine/options/run-part.ts";
import type { Layer } from "../../src/engine/ports/middleware.ts";
import { reexecute } from "../../src/entries/replay.ts";
import { type ContentFilterOptions, contentFilter } from "../../src/middleware/content-filter.ts";
import { recover } from "../../src/middleware/recover.ts";
import type { ScriptedAnswer } from "../../src/providers/scripted/scripted.ts";
import { createWorkshop, dataOf, eventsOf, rejectionOf } from "../support/workshop.ts";

const noBombs: ContentFilterOptions["check"] = (text) => (text.includes("bomb") ? "about bombs" : null);

function talk(middleware: readonly Layer[], answers: readonly string[]) {
  const { conversation, ...workshop } = createWorkshop();
  const { engine, provider } = workshop.scripted(answers, { middleware });
  const say = async (text: string) => {
    await conversation.append(text);
    return conversation.run(engine);
  };
  const texts = async () => (await conversation.turn()).blocks.map(({ text }) => text);
  return { conversation, engine, provider, say, texts };
}

test("a message that is blocked ends the run before the request, and again in the next run, also behind an answer of recover", async () => {
  const { say, provider, texts } = talk(
    [recover({ answer: "I cannot." }), contentFilter({ check: noBombs })],
    ["fine"],
  );
  for (const said of ["a bomb", "please"]) expect((await say(said)).text).toBe("I cannot.");
  expect(provider.requests).toEqual([]);
  expect(await texts()).toEqual(["a bomb", "I cannot.", "please", "I cannot."]);
});

test("a conversation goes on once the message that was blocked is reverted", async () => {
  const { conversation, say, provider } = talk(
    [recover({ answer: "I cannot." }), contentFilter({ check: noBombs })],
    ["hello", "fine"],
  );
  await say("hi");
  const before = (await conversation.head())?.revision ?? -1;
  for (const said of ["a bomb", "please"]) expect((await say(said)).text).toBe("I cannot.");
  await conversation.revertTo(before);
  expect((await say("please")).text).toBe("fine");
  expect(JSON.stringify(provider.requests)).not.toContain("bomb");
});

test("an answer that is blocked ends the run and is not in the Turn", async () => {
  const { say, texts } = talk([contentFilter({ check: noBombs })], ["a bomb", "fine"]);
  expect(await rejectionOf(say("hello"))).toMatchObject({ kind: "content-blocked", layer: "content-filter" });
  expect(await texts()).toEqual(["hello"]);
  expect((await say("again")).text).toBe("fine");
});

test("redact takes values out in both directions, and the conversation goes on without them", async () => {
  const check: ContentFilterOptions["check"] = (text) =>
    text.includes("bomb") ? { reason: "about bombs", values: ["bomb", "bombs"] } : null;
  const { conversation, engine, say, provider, texts } = talk(
    [contentFilter({ check, action: "redact", replacement: "…" })],
    ["two bombs", "fine"],
  );
  await say("a bomb and bombs");
  await say("thanks");
  expect(await texts()).toEqual(["a … and …", "two …", "thanks", "fine"]);
  expect(JSON.stringify(provider.requests)).not.toContain("bomb");
  expect((await reexecute(conversation, engine)).difference).toBeNull();
});

test("redact without values replaces the whole text", async () => {
  const { say, texts } = talk([contentFilter({ check: noBombs, action: "redact", direction: "after" })], ["a bomb"]);
  await say("hello, bomb");
  expect(await texts()).toEqual(["hello, bomb", "[removed]"]);
});

test("warn records the finding once and changes nothing", async () => {
  const { conversation, engine, say, texts } = talk(
    [contentFilter({ check: noBombs, action: "warn" })],
    ["one", "two"],
  );
  await say("a bomb");
  await say("thanks");
  expect(await texts()).toEqual(["a bomb", "one", "thanks", "two"]);
  const values = dataOf(await eventsOf(conversation), "EffectFinished").map(({ answer }) => answer);
  expect(JSON.stringify(values)).toContain("about bombs");
  expect(values).toHaveLength(1);
  expect((await reexecute(conversation, engine)).difference).toBeNull();
});

test("a check outside is an effect: a re-execution takes its findings from the log", async () => {
  let calls = 0;
  const check: ContentFilterOptions["check"] = async (text) => {
    calls += 1;
    return noBombs(text, { direction: "before", kind: "user", signal: new AbortController().signal });
  };
  const layer = contentFilter({ check, outside: true, action: "redact" });
  const { conversation, engine, say, texts } = talk([layer], ["fine"]);
  await say("a bomb");
  expect(await texts()).toEqual(["[removed]", "fine"]);
  expect(calls).toBe(2);
  expect((await reexecute(conversation, engine)).difference).toBeNull();
  expect(calls).toBe(2);
});

test("a check outside that fails ends the run, unless it may pass", async () => {
  const check = () => Promise.reject(new Error("the service is down"));
  const { say } = talk([contentFilter({ check, outside: true })], ["fine"]);
  expect(await rejectionOf(say("hello"))).toMatchObject({ kind: "effect-failed" });
  const other = talk([contentFilter({ check, outside: true, ifUnavailable: "pass" })], ["fine"]);
  expect((await other.say("hello")).text).toBe("fine");
  expect(dataOf(await eventsOf(other.conversation), "EffectFinished").map(({ answer }) => answer.outcome)).toEqual([
    "error",
    "error",
  ]);
});

/** What those who watch a run read of its answers, piece by piece. */
async function watched(options: ContentFilterOptions, answers: readonly ScriptedAnswer[]) {
  const { conversation, ...workshop } = createWorkshop();
  const parts: RunPart[] = [];
  const middleware = [contentFilter(options)];
  const { engine } = workshop.scripted(answers, { middleware, observers: [{ next: (part) => parts.push(part) }] });
  await conversation.append("hello");
  await conversation.run(engine).catch(() => undefined);
  const deltas = parts.flatMap((part) =>
    part.type === "text-delta" || part.type === "tool-call-delta" ? [part.text] : [],
  );
  const blocks = parts.flatMap((part) => (part.type === "block" ? [part.block.text] : []));
  return { deltas, blocks };
}

const isWhole =
  (text: string): ContentFilterOptions["check"] =>
  (given) =>
    given === text ? null : "it is not whole";

test("a text that is blocked is never shown while it arrives, and one that passes is shown once it is whole", async () => {
  expect(await watched({ check: noBombs }, ["this is a bomb"])).toEqual({ deltas: [], blocks: [""] });
  const said = "this is a flower";
  expect(await watched({ check: isWhole(said), direction: "after" }, [said])).toEqual({
    deltas: [said],
    blocks: [said],
  });
});

test("what redact takes out is never shown, in texts and in arguments of calls", async () => {
  const check = (text: string) => (text.includes("Ada") ? { reason: "a name", values: ["Ada"] } : null);
  const greet: ScriptedAnswer = { text: "I greet Ada.", calls: [{ name: "greet", arguments: { to: "Ada" } }] };
  const shown = ["I greet [removed].", '{"to":"[removed]"}'];
  expect(await watched({ check, action: "redact" }, [greet])).toEqual({ deltas: shown, blocks: shown });
});

test("a check outside shows nothing before it is done, and warn shows a text as it arrives", async () => {
  const pass = (): Promise<null> => Promise.resolve(null);
  expect(await watched({ check: pass, outside: true }, ["hi there"])).toEqual({ deltas: [], blocks: [""] });
  const { deltas } = await watched({ check: noBombs, action: "warn" }, ["this is a bomb"]);
  expect(deltas.length).toBeGreaterThan(1);
  expect(deltas.join("")).toBe("this is a bomb");
});
