import { expect, test } from "vitest";
import type { Block } from "../../src/domain/block.ts";
import { assistant, text, toolCall, toolResult, user } from "../../src/domain/make-block.ts";
import { defineMiddleware } from "../../src/engine/ports/middleware.ts";
import { openSqliteStore } from "../../src/stores/sqlite/store.ts";
import { calling } from "../support/run/tool-runs.ts";
import { temporaryFolder } from "../support/stores/temporary-folder.ts";
import { createWorkshop, dataOf, eventsOf } from "../support/workshop.ts";

const gave = (callId: string, output = "42"): Block => toolResult({ callId, output });
const byApp = { actor: { kind: "app" } } as const;

test("an approval is read by the model though the user spoke meanwhile, and named by its call", async () => {
  const { conversation, ...workshop } = createWorkshop();
  const { engine, provider } = workshop.scripted([calling(["pay", '{"euros":7}', "c1"]), "in a moment", "paid"]);
  await conversation.append("pay 7 euros");
  expect(await conversation.run(engine)).toMatchObject({ status: "calls-open" });
  await conversation.append("is it done?");
  expect(await conversation.run(engine)).toMatchObject({ text: "in a moment" });
  await conversation.append(gave("c1", "approved"), byApp);
  expect(await conversation.run(engine)).toMatchObject({ text: "paid" });
  const [, second, third] = provider.requests.map((request) => JSON.stringify(request));
  expect(second).toContain("aborted");
  expect(third).toContain("Result of your earlier call pay(");
  expect(third).toContain("approved");
  const repairs = dataOf(await eventsOf(conversation), "InferenceRequested").map(({ decision }) => decision.repairs);
  expect(repairs[2]).toContainEqual({ rule: "late-result", index: 4, detail: { call: 1 } });
});

test("a result of a call that has one, of a call that is not there, and a second one in one append are refused", async () => {
  const { conversation } = createWorkshop();
  const call = toolCall({ callId: "c1", name: "pay", arguments: "{}" });
  await conversation.append(["pay", call, user("and?")]);
  const before = await conversation.head();
  const refusal = async (...blocks: readonly Block[]) => conversation.append(blocks).catch((error: unknown) => error);
  expect(await refusal(gave("c2"))).toMatchObject({ code: "no-open-call" });
  expect(String(await refusal(gave("c2")))).toMatch(/the Turn has no such call, and open calls are pay \(c1\)/);
  expect(await refusal(gave("c1"), gave("c1"))).toMatchObject({ code: "no-open-call" });
  expect(await conversation.head()).toEqual(before);
  await conversation.append(gave("c1"));
  expect(await refusal(gave("c1"))).toMatchObject({ code: "no-open-call" });
  expect(String(await refusal(gave("c1")))).toMatch(/already has its result; append a message instead/);
});

test("a call and its result may come in one append, and a call id that comes again is open again", async () => {
  const { conversation } = createWorkshop();
  const call = toolCall({ callId: "c1", name: "pay", arguments: "{}" });
  await conversation.append(["pay", call, gave("c1")]);
  await conversation.append([call, gave("c1", "43")]);
  await expect(conversation.append(gave("c1"))).rejects.toMatchObject({ code: "no-open-call" });
});

test("a delivery of a result that comes twice is one, also in two processes at once", async () => {
  const path = temporaryFolder().file("turnlog.db");
  const one = createWorkshop({ events: await openSqliteStore(path) });
  const two = createWorkshop({ events: await openSqliteStore(path) });
  const [first, second] = [one.store.conversation("cnv_shared_once"), two.store.conversation("cnv_shared_once")];
  await first.append(["pay", toolCall({ callId: "c1", name: "pay", arguments: "{}" })]);
  const appended = await Promise.all([
    first.append(gave("c1"), { key: "approval-1" }),
    second.append(gave("c1"), { key: "approval-1" }),
    first.append(gave("c1"), { key: "approval-1" }),
  ]);
  expect(appended.filter(({ isNew }) => isNew)).toHaveLength(1);
  expect(new Set(appended.map(({ blocks: [block] }) => block?.id)).size).toBe(1);
  expect((await first.turn()).blocks.filter(({ kind }) => kind === "tool_result")).toHaveLength(1);
});

test("a process that has not read what another wrote takes the result of the other's call", async () => {
  const path = temporaryFolder().file("turnlog.db");
  const one = createWorkshop({ events: await openSqliteStore(path) });
  const two = createWorkshop({ events: await openSqliteStore(path) });
  const [first, second] = [one.store.conversation("cnv_shared_later"), two.store.conversation("cnv_shared_later")];
  await second.append("pay");
  await first.append(toolCall({ callId: "c1", name: "pay", arguments: "{}" }));
  expect(await second.append(gave("c1"))).toMatchObject({ isNew: true });
});

test("a result of a call that the open run made waits for the end of that run", async () => {
  const { conversation, ...workshop } = createWorkshop();
  let refused: unknown = null;
  const hasty = defineMiddleware({ name: "hasty", version: "1.0.0" }, (next) => async (turn) => {
    const answered = await next(turn);
    refused = await conversation.append(gave("c1")).catch((error: unknown) => error);
    return answered;
  });
  const { engine } = workshop.scripted([calling(["pay", "{}", "c1"])], { middleware: [hasty] });
  await conversation.append("pay");
  await conversation.run(engine);
  expect(refused).toMatchObject({ code: "no-open-call" });
  expect(String(refused)).toMatch(/after the run that made the call has ended/);
  await conversation.append(gave("c1"));
});

test("what is said under a key that was used for something else is refused, and nothing is appended", async () => {
  const { conversation } = createWorkshop();
  await conversation.append("Hello.", { key: "message-1" });
  const said = [assistant("one"), user([text("two"), text("three")])];
  await conversation.append(said, { key: "message-2" });
  const before = await conversation.head();
  const code = async (content: Parameters<typeof conversation.append>[0], key: string) =>
    conversation.append(content, { key, ...byApp }).then(
      ({ isNew }) => isNew,
      (error: unknown) => error,
    );
  expect(await code("Goodbye.", "message-1")).toMatchObject({ code: "key-reused" });
  expect(await code([assistant("one"), "two"], "message-2")).toMatchObject({ code: "key-reused" });
  expect(await code(assistant("one"), "message-2")).toMatchObject({ code: "key-reused" });
  // The same content under the same key is the same message, whichever process appends it.
  expect(await code("Hello.", "message-1")).toBe(false);
  expect(await code(said, "message-2")).toBe(false);
  expect(await conversation.head()).toEqual(before);
});
