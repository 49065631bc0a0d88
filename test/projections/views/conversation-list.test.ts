import { expect, test } from "vitest";
import type { ConversationEvent } from "../../../src/domain/events/event.ts";
import { conversationIdSchema, settingsNameSchema } from "../../../src/domain/ids.ts";
import { assistant, user } from "../../../src/domain/make-block.ts";
import { conversationList } from "../../../src/projections/views/conversation-list.ts";
import {
  appended,
  digest,
  fold,
  inferenceId,
  json,
  received,
  requested,
  runCompleted,
  runStarted,
  settingsDeclared,
} from "../../support/projections/recorded-events.ts";

const titled = (title: string): ConversationEvent => ({ type: "ConversationRelabelled", version: 1, data: { title } });
const chained = (name: string, anchor: string, requestBytes: number, strategy: "chained" | "rebased" = "chained") =>
  requested(name, {
    requestBytes,
    decision: {
      strategy,
      anchor: { kind: "response", id: `resp_${anchor}`, inferenceId: inferenceId(anchor), length: 1 },
    },
  });

/** What a list would say of these events. */
const listed = (events: Parameters<typeof fold>[1]) => fold(conversationList, events).summary;

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));
const settings = { model: "m-1", instructions: "Réponds." };
const answer = json(assistant("Ça va."), "answer");

test("says what a conversation is called, how long it is, and when it was written", () => {
  const view = listed([
    [{ type: "ConversationStarted", version: 1, data: { origin: { type: "import", source: "a file" } } }],
    [appended(user("one\ntwo"), "1")],
    [appended(user("three"), "2")],
  ]);
  expect(view).toMatchObject({
    ...{ title: null, begins: "one two", origin: "import", parent: null, events: 3 },
    ...{ startedAt: "2026-03-01T12:00:00.000Z", lastAt: "2026-03-01T12:02:00.000Z" },
  });
  expect(listed([[titled("A")], [titled("B")]])).toMatchObject({ title: "B", begins: null });
});

test("names the conversation that it is a fork of", () => {
  const conversationId = conversationIdSchema.parse("cnv_parent");
  const origin = { type: "fork", conversationId, revision: 3, digest } as const;
  const started: ConversationEvent = { type: "ConversationStarted", version: 1, data: { origin } };
  expect(listed([[started]])).toMatchObject({ origin: "fork", parent: "cnv_parent" });
});

test("counts runs, and requests by what became of the chain", () => {
  const view = listed([
    [runStarted],
    [requested("1")],
    [received("1", [answer])],
    [chained("2", "1", 100)],
    [chained("3", "1", 100, "rebased")],
    [runCompleted],
    [runStarted],
  ]);
  expect(view).toMatchObject({
    runs: 2,
    openRun: { waiting: [], begun: [] },
    requests: 3,
    full: 1,
    chained: 1,
    rebased: 1,
  });
});

test("what was saved is what the context of each anchor had cost: inputs without settings, and answers", () => {
  const view = listed([
    [settingsDeclared(settings)],
    [requested("1", { requestBytes: 1_000 })],
    [received("1", [answer])],
    [chained("2", "1", 400)],
    [received("2", [answer])],
    [chained("3", "2", 300)],
    [chained("4", "1", 200, "rebased")],
  ]);
  const first = 1_000 - bytesOf(settings) + bytesOf(answer.payload);
  const second = first + 400 - bytesOf(settings) + bytesOf(answer.payload);
  expect(view).toMatchObject({ bytesSent: 1_900, bytesSaved: first + second + first });
});

test("takes a context that it does not know for one that cost nothing", () => {
  expect(listed([[chained("2", "elsewhere", 400)], [chained("3", "2", 300)]])).toMatchObject({
    ...{ chained: 2, bytesSent: 700, bytesSaved: 0 },
  });
});

const nameOf = (n: number) => settingsNameSchema.parse(String(n).padStart(64, "0"));

test("keeps a row small, whatever a conversation does", () => {
  const events = Array.from({ length: 2_000 }, (_, n): readonly [ConversationEvent][] => [
    [{ type: "SettingsDeclared", version: 2, data: { digest: nameOf(n), settings: { n } } }],
    [requested(String(n), { settingsDigest: nameOf(n) })],
    [received(String(n), [answer])],
  ]).flat();
  const view = fold(conversationList, events);
  expect(view.summary.requests).toBe(2_000);
  expect(bytesOf(view)).toBeLessThan(40_000);
});
