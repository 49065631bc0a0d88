import { expect, test, vi } from "vitest";
import * as z from "zod";
import { TurnlogError } from "../../../src/base/turnlog-error.ts";
import type { EngineConfig } from "../../../src/engine/options/create-engine.ts";
import { tool } from "../../../src/engine/ports/tool.ts";
import { type ScriptedAnswer, scripted } from "../../../src/providers/scripted/scripted.ts";
import { reexecute } from "../../../src/replay/re-execute.ts";
import { replayed } from "../../support/replayed.ts";
import { createWorkshop, eventsOf, typesOf } from "../../support/workshop.ts";

const calling = (...names: readonly string[]): ScriptedAnswer => ({
  calls: names.map((name) => ({ name, arguments: {} })),
});

/** A tool that does not know its outcome for so many calls, and others beside it. */
function scene(config: Partial<EngineConfig> = {}, { answers = [calling("charge"), "Done."], doubts = 1 } = {}) {
  const workshop = createWorkshop();
  const ran: string[] = [];
  const make = (name: string, work: () => Promise<string> | string, idempotent = false) =>
    tool({
      ...{ name, description: name, inputSchema: z.object({}), idempotent },
      execute: () => {
        ran.push(name);
        return work();
      },
    });
  let left = doubts;
  const mayDoubt = (): string => {
    left -= 1;
    if (left >= 0) throw new TurnlogError("tool-in-doubt", "the connection broke");
    return "charged";
  };
  const slow = async (): Promise<string> => {
    await new Promise((resolve) => setImmediate(resolve));
    return "noted";
  };
  const tools = [make("charge", mayDoubt), make("note", slow), make("look", mayDoubt, true)];
  const engine = workshop.engine({ provider: scripted(answers), tools, ...config });
  return { ...workshop, engine, ran };
}

test("a tool that does not know its outcome parks the run, once the other calls have ended, and a person settles it", async () => {
  const { conversation, engine, ran, store } = scene({}, { answers: [calling("charge", "note"), "Done."], doubts: 1 });
  await conversation.append("Charge and note.");
  const waiting = await conversation.run(engine);
  expect(waiting).toMatchObject({ status: "parked", waitingFor: [{ kind: "doubt", name: "charge" }] });
  expect(typesOf(await eventsOf(conversation)).slice(-3)).toEqual(["ToolFinished", "ToolParked", "RunParked"]);
  expect(await conversation.run(engine)).toMatchObject({ status: "parked" });
  await conversation.settle("charge", { how: "result", output: "charged, says the bank" });
  const { text, status } = await conversation.run(engine);
  expect([text, status, ran]).toEqual(["Done.", "completed", ["charge", "note"]]);
  const results = (await conversation.turn()).blocks.filter(({ kind }) => kind === "tool_result");
  expect(results.map((block) => block.text)).toEqual(["charged, says the bank", "noted"]);
  expect((await replayed(store, conversation)).difference).toBeNull();
  expect((await reexecute(conversation, engine)).difference).toBeNull();
});

test.each([
  [{ how: "result", output: "found in the ledger" }, "found in the ledger", 1],
  [{ how: "rerun" }, "charged", 2],
  [{ how: "abandon" }, "in doubt: no result came; it may have taken effect", 1],
] as const)("the app's handler settles it in the same run: %j", async (settlement, told, times) => {
  const asked: unknown[] = [];
  const { conversation, engine, ran, store } = scene({
    onInDoubt: (doubt) => {
      asked.push(doubt);
      return settlement;
    },
  });
  await conversation.append("Charge.");
  expect(await conversation.run(engine)).toMatchObject({ status: "completed", text: "Done." });
  expect([asked.length, ran.length]).toEqual([1, times]);
  expect(asked).toMatchObject([{ name: "charge", call: { kind: "tool_call" } }]);
  expect((await conversation.turn()).blocks.find(({ kind }) => kind === "tool_result")?.text).toBe(told);
  expect((await replayed(store, conversation)).difference).toBeNull();
  expect((await reexecute(conversation, engine)).difference).toBeNull();
});

test("a handler that has the call run again is not asked for ever: a second doubt waits for a person", async () => {
  const { conversation, engine, ran } = scene({ onInDoubt: () => ({ how: "rerun" }) }, { doubts: 2 });
  await conversation.append("Charge.");
  expect(await conversation.run(engine)).toMatchObject({ status: "parked", waitingFor: [{ kind: "doubt" }] });
  expect(ran).toEqual(["charge", "charge"]);
});

test("a handler that fails leaves the call to a person, with a warning", async () => {
  const warnings: string[] = [];
  const warn = vi.spyOn(process, "emitWarning").mockImplementation((warning) => void warnings.push(String(warning)));
  const { conversation, engine } = scene({
    onInDoubt: () => {
      throw new Error("no ledger");
    },
  });
  await conversation.append("Charge.");
  expect(await conversation.run(engine)).toMatchObject({ status: "parked" });
  warn.mockRestore();
  expect(warnings.join()).toMatch(/onInDoubt failed, so the run waits until somebody settles the call .*: no ledger/);
});

test("an idempotent tool is never in doubt: the model gets the error", async () => {
  const { conversation, engine } = scene({}, { answers: [calling("look"), "Done."] });
  await conversation.append("Look.");
  expect(await conversation.run(engine)).toMatchObject({ status: "completed", text: "Done." });
  const result = (await conversation.turn()).blocks.find(({ kind }) => kind === "tool_result");
  expect(result?.text).toBe("Error: the connection broke");
});

test("another call that waits for approval waits beside it, and begins only when both are decided", async () => {
  const { conversation, engine, ran } = scene(
    { approvals: { note: true } },
    { answers: [calling("charge", "note"), "Done."] },
  );
  await conversation.append("Charge and note.");
  const { waitingFor } = await conversation.run(engine);
  expect(waitingFor.map(({ kind, name }) => [kind, name])).toEqual([
    ["approval", "note"],
    ["doubt", "charge"],
  ]);
  const [note] = waitingFor;
  await conversation.approve(note?.blockId ?? "", { actor: { kind: "user", name: "ann" } });
  expect(await conversation.run(engine)).toMatchObject({ status: "parked" });
  expect(ran).toEqual(["charge"]);
  await conversation.settle("charge", { how: "rerun" });
  expect(await conversation.run(engine)).toMatchObject({ status: "completed" });
  expect(ran.toSorted()).toEqual(["charge", "charge", "note"]);
});
