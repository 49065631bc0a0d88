import { expect, test } from "vitest";
import * as z from "zod";
import { tool } from "../../../src/engine/ports/tool.ts";
import { gated } from "../../support/gates.ts";
import { layer } from "../../support/run/scene.ts";
import { calling } from "../../support/run/tool-runs.ts";
import { createWorkshop, dataOf, eventsOf, rejectionOf } from "../../support/workshop.ts";

/** A conversation whose first request waits until it is let go. */
async function runningShop(answers: readonly string[]) {
  const { conversation, store, ...workshop } = createWorkshop();
  const gate = Promise.withResolvers<undefined>();
  const asked = Promise.withResolvers<undefined>();
  const provider = gated(answers, (request) => {
    if (request > 0) return undefined;
    asked.resolve(undefined);
    return gate.promise;
  });
  const engine = workshop.engine({ provider });
  await conversation.append("one");
  const first = conversation.run(engine);
  await asked.promise;
  return { conversation, store, workshop, engine, first, letGo: () => gate.resolve(undefined) };
}

test("runs of one conversation wait for each other, in the order in which they were asked for", async () => {
  const { conversation, engine, first, letGo } = await runningShop(["first", "second"]);
  await conversation.append("two");
  const order: string[] = [];
  const others = [1, 2].map(async (n) => {
    const { text, isNew } = await conversation.run(engine);
    order.push(`${n} ${text} ${isNew}`);
  });
  letGo();
  expect((await first).text).toBe("first");
  await Promise.all(others);
  expect(order).toEqual(["1 second true", "2 second false"]);
});

test("a caller that does not want to wait gets an error, and one that waits may give up", async () => {
  const { conversation, engine, first, letGo } = await runningShop(["first"]);
  expect(await rejectionOf(conversation.run(engine, { whileRunning: "throw" }))).toMatchObject({
    code: "run-in-progress",
    owner: { pid: process.pid },
  });
  const abort = new AbortController();
  const waiting = rejectionOf(conversation.run(engine, { signal: abort.signal }));
  abort.abort(new Error("enough"));
  expect(await waiting).toMatchObject({ code: "run-cancelled", cause: { message: "enough" } });
  letGo();
  expect((await first).text).toBe("first");
  expect(await conversation.run(engine)).toMatchObject({ isNew: false, text: "first" });
});

test("a run that failed lets the next one go", async () => {
  const { conversation, workshop, engine, first, letGo } = await runningShop([]);
  const next = conversation.run(workshop.scripted(["an answer"]).engine);
  letGo();
  expect(await rejectionOf(first)).toMatchObject({ code: "run-failed" });
  expect((await next).text).toBe("an answer");
  expect(await conversation.run(engine)).toMatchObject({ isNew: false });
});

test("runs of other conversations do not wait", async () => {
  const { store, workshop, first, letGo } = await runningShop(["first"]);
  const other = store.conversation("cnv_other");
  await other.append("hello");
  expect((await other.run(workshop.scripted(["at once"]).engine)).text).toBe("at once");
  letGo();
  await first;
});

test.each([
  ["a tool", "tool"],
  ["a layer", "layer"],
  ["a tool of a child's run", "child"],
])("a run begun by %s of a run of the same conversation is refused by name", async (_, by) => {
  const { conversation, store, ...workshop } = createWorkshop();
  const refusals: unknown[] = [];
  const runAgain = async (): Promise<string> => {
    refusals.push(await rejectionOf(store.conversation(conversation.id).run(engine)));
    return "tried";
  };
  const inner = store.conversation("cnv_inner");
  await inner.append("help");
  const asks = (execute: () => Promise<string>) =>
    tool({ name: "ask", description: "Asks.", inputSchema: z.object({}), execute });
  const helper = workshop.scripted([calling(["ask", "{}"]), "helped"], { tools: [asks(runAgain)] });
  const nested = layer("nested", async (turn, next) => {
    await runAgain();
    return next(turn);
  });
  const { engine } = workshop.scripted(by === "layer" ? ["an answer"] : [calling(["ask", "{}"]), "an answer"], {
    tools: by === "layer" ? [] : [asks(by === "tool" ? runAgain : async () => (await inner.run(helper.engine)).text)],
    middleware: by === "layer" ? [nested] : [],
  });
  await conversation.append("hello");
  expect((await conversation.run(engine)).text).toBe("an answer");
  expect(refusals).toMatchObject([{ code: "run-within-run" }]);
  expect(String(refusals[0])).toContain("a run of conversation-cnv_workshop");
});

test("what hears of a run's parts may begin the next run, which waits for its turn", async () => {
  const { conversation, ...workshop } = createWorkshop();
  const next = Promise.withResolvers<string>();
  const { engine } = workshop.scripted(["first", "second"], {
    observers: [
      {
        next: (part) => {
          if (part.type === "run-end" && part.result.text === "first")
            conversation.run(engine, { again: true }).then(({ text }) => next.resolve(text), next.reject);
        },
      },
    ],
  });
  await conversation.append("hello");
  await conversation.run(engine);
  expect(await next.promise).toBe("second");
  expect(dataOf(await eventsOf(conversation), "RunStarted")).toHaveLength(2);
});

test("code that a run left behind may run the conversation once the run has ended", async () => {
  const { conversation, ...workshop } = createWorkshop();
  const ended = Promise.withResolvers<undefined>();
  const later = Promise.withResolvers<unknown>();
  const leaving = layer("leaving", (turn, next) => {
    void ended.promise.then(() => conversation.run(engine)).then(later.resolve, later.reject);
    return next(turn);
  });
  const { engine } = workshop.scripted(["an answer"], { middleware: [leaving] });
  await conversation.append("hello");
  await conversation.run(engine);
  ended.resolve(undefined);
  expect(await later.promise).toMatchObject({ isNew: false, text: "an answer" });
});
