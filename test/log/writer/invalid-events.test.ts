import { expect, test } from "vitest";
import { commit } from "../../../src/conversation/commit.ts";
import type { Conversation } from "../../../src/conversation/conversation.ts";
import type { ProposedEvent } from "../../../src/domain/events/recorded.ts";
import { user } from "../../../src/domain/make-block.ts";
import type { Provider } from "../../../src/engine/ports/provider.ts";
import { ProviderError } from "../../../src/engine/ports/provider-error.ts";
import { RunFailedError } from "../../../src/engine/session/errors.ts";
import { scripted } from "../../../src/providers/scripted/scripted.ts";
import { layer } from "../../support/run/scene.ts";
import { createWorkshop, eventsOf, typesOf } from "../../support/workshop.ts";

const relabel = (data: object, actor: object = { kind: "app" }): ProposedEvent =>
  ({ event: { type: "ConversationRelabelled", version: 1, data }, actor }) as ProposedEvent;

/** What types refuse, and JavaScript and configuration files do not. */
test.each<[string, (conversation: Conversation) => Promise<unknown>, RegExp]>([
  ["a title that is no text", (its) => its[commit]([relabel({ title: 5 })]), /Relabelled cannot be recorded: .*title/],
  ["nobody who could say it", (its) => its[commit]([relabel({ title: "A talk" }, { kind: "god" })]), /its actor: kind/],
  ["a block of nothing", async (its) => its.append(user([undefined as never])), /content\[0\] is undefined/],
  [
    "a name that is no text",
    (its) => its[commit]([relabel({ title: "A talk" }, { kind: "user", name: 1 })]),
    /its actor: name/,
  ],
])("records nothing that could not be read again: %s", async (_what, give, message) => {
  const { conversation } = createWorkshop();
  await conversation.append("hello");
  const before = await eventsOf(conversation);
  await expect((async () => give(conversation))()).rejects.toThrow(message);
  await conversation.append("and on");
  const after = await eventsOf(conversation);
  expect(after.slice(0, before.length)).toEqual(before);
  expect((await conversation.turn()).blocks.map(({ text }) => text)).toEqual(["hello", "and on"]);
});

test("what is absent may be given as undefined", async () => {
  const { conversation } = createWorkshop();
  await conversation.append("hello", { actor: { kind: "user", name: undefined } as never });
  await conversation.relabel({ title: "A talk", labels: undefined } as never);
  const [started, appended, relabelled] = await eventsOf(conversation);
  expect(started?.actor).toEqual({ kind: "user" });
  expect(Object.keys(appended?.actor ?? {})).toEqual(["kind"]);
  expect(relabelled?.event.data).toEqual({ title: "A talk" });
});

test.each<[string, object]>([
  ["a text for a status", { kind: "rate-limited", outcome: "rejected", status: "429" }],
  ["no outcome", { kind: "rate-limited" }],
  ["a kind that is none", { kind: "boss", outcome: "unknown" }],
  ["a time without end", { kind: "rate-limited", outcome: "rejected", retryAfterMs: Number.POSITIVE_INFINITY }],
  ["a body that is no JSON", { kind: "rate-limited", outcome: "rejected", body: { at: 1n } }],
])("a provider's failure with %s is recorded, and ends the run", async (_what, fields) => {
  const { conversation, engine } = createWorkshop();
  const provider: Provider = {
    ...scripted([]),
    infer: () => Promise.reject(new ProviderError("not now", fields as never)),
  };
  await conversation.append("hello");
  await expect(conversation.run(engine({ provider }))).rejects.toBeInstanceOf(RunFailedError);
  const types = typesOf(await eventsOf(conversation));
  expect(types.slice(-2)).toEqual(["InferenceFailed", "RunFailed"]);
});

test("a response that cannot be read is a failure of its provider", async () => {
  const { conversation, engine } = createWorkshop();
  const response = {
    id: "resp_1",
    status: "completed",
    output: [{ type: "message", role: "assistant", at: new Date(0) }],
  };
  const provider: Provider = { ...scripted([]), infer: () => Promise.resolve({ response: response as never }) };
  await conversation.append("hello");
  await expect(conversation.run(engine({ provider }))).rejects.toMatchObject({ kind: "provider-failed" });
  expect(typesOf(await eventsOf(conversation)).slice(-2)).toEqual(["InferenceFailed", "RunFailed"]);
});

test("a run of which something could not be recorded is ended, and says so", async () => {
  const { conversation, ...workshop } = createWorkshop();
  const careless = layer("careless", async (turn, next) => {
    const result = await next(turn);
    return result.append(user("noted").withWire({ scope: 5 as never }));
  });
  const { engine } = workshop.scripted(["one", "two"], { middleware: [careless] });
  await conversation.append("hello");
  await expect(conversation.run(engine)).rejects.toMatchObject({ code: "run-failed", kind: "invalid-event" });
  expect(typesOf(await eventsOf(conversation)).slice(-2)).toEqual(["ResponseReceived", "RunFailed"]);
});

test("what a layer gives before anything was recorded ends its run as well, by the layer's name", async () => {
  const { conversation, ...workshop } = createWorkshop();
  const careless = layer("careless", async (turn, next, ctx) => {
    await ctx.effect(5 as never, () => "done");
    return next(turn);
  });
  const { engine } = workshop.scripted(["one"], { middleware: [careless] });
  await conversation.append("hello");
  await expect(conversation.run(engine)).rejects.toMatchObject({ kind: "layer-failed", layer: "careless" });
  expect(typesOf(await eventsOf(conversation)).slice(-2)).toEqual(["RunStarted", "RunFailed"]);
});
