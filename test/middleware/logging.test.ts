import { expect, test } from "vitest";
import * as z from "zod";
import { tool } from "../../src/engine/ports/tool.ts";
import { type LogEntry, logging } from "../../src/middleware/logging.ts";
import { createWorkshop, dataOf, eventsOf, rejectionOf } from "../support/workshop.ts";

/** A log and a clock that moves on by ten at every look. */
function createLog() {
  const entries: LogEntry[] = [];
  let time = 0;
  const now = (): number => (time += 10);
  return { entries, layer: logging({ write: (entry) => entries.push(entry), now }) };
}

const look = tool({ name: "look", description: "", inputSchema: z.object({}), execute: () => "seen" });

test("every call is logged when it starts and when it completes, with its blocks and its time", async () => {
  const { conversation, ...workshop } = createWorkshop();
  const { entries, layer } = createLog();
  const answers = [{ calls: [{ name: "look", arguments: {} }] }, "done"];
  const { engine } = workshop.scripted(answers, { middleware: [layer], tools: [look] });
  await conversation.append("hello");
  await conversation.run(engine);
  const runId = "run_0000000000000001";
  expect(entries).toEqual([
    { event: "started", runId, frame: "0.0", blocks: 1, kinds: { user: 1 }, durationMs: 0 },
    { event: "completed", runId, frame: "0.0", blocks: 2, kinds: { user: 1, tool_call: 1 }, durationMs: 10 },
    {
      event: "started",
      runId,
      frame: "0.1",
      blocks: 3,
      kinds: { user: 1, tool_call: 1, tool_result: 1 },
      durationMs: 0,
    },
    {
      ...{ event: "completed", runId, frame: "0.1", blocks: 4, durationMs: 10 },
      kinds: { user: 1, tool_call: 1, tool_result: 1, assistant: 1 },
    },
  ]);
  expect(
    dataOf(await eventsOf(conversation), "TurnEdited").filter(({ direction }) => direction === "response"),
  ).toEqual([]);
});

test("a failure is logged with its code, and passed on", async () => {
  const { conversation, ...workshop } = createWorkshop();
  const { entries, layer } = createLog();
  const { engine } = workshop.scripted([{ error: { message: "the user said hello", status: 400 } }], {
    middleware: [layer],
  });
  await conversation.append("hello");
  expect(await rejectionOf(conversation.run(engine))).toMatchObject({ code: "run-failed" });
  expect(entries.at(-1)).toMatchObject({ event: "failed", frame: "0", blocks: 1, error: "provider-failed" });
});

test("a log tells nothing of what was said", async () => {
  const { conversation, ...workshop } = createWorkshop();
  const { entries, layer } = createLog();
  const { engine } = workshop.scripted(["a private answer"], { middleware: [layer] });
  await conversation.append("a private question");
  await conversation.run(engine);
  expect(JSON.stringify(entries)).not.toContain("private");
});

test("a log that cannot be written stops no conversation", async () => {
  const { conversation, ...workshop } = createWorkshop();
  const broken = logging({
    write: () => {
      throw new Error("the disk is full");
    },
  });
  const { engine } = workshop.scripted(["an answer"], { middleware: [broken] });
  await conversation.append("hello");
  expect((await conversation.run(engine)).text).toBe("an answer");
});
