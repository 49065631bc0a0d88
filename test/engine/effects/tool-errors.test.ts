import { expect, test } from "vitest";
import * as z from "zod";
import { user } from "../../../src/domain/make-block.ts";
import { tool } from "../../../src/engine/ports/tool.ts";
import { calling, resultsOf, run } from "../../support/run/tool-runs.ts";
import { dataOf } from "../../support/workshop.ts";

const trouble = new Error("no account", { cause: new Error("password hunter2") });
const throwing = tool({
  name: "charge",
  description: "Charges.",
  inputSchema: z.object({}),
  execute: () => {
    throw trouble;
  },
});
const returning = tool({ name: "charge", description: "Charges.", inputSchema: z.object({}), execute: () => trouble });
const later = tool({ ...definition(), execute: () => Promise.resolve(trouble) });

function definition() {
  return { name: "charge", description: "Charges.", inputSchema: z.object({}) };
}

test.each([
  ["throws", throwing],
  ["gives", returning],
  ["promises", later],
])("the model reads the message of an error that a tool %s, without stack and cause", async (_, charge) => {
  const { turn, events } = await run([calling(["charge", "{}"]), "done"], { tools: [charge] });
  expect(resultsOf(turn)).toEqual(["Error: no account"]);
  expect(dataOf(events, "ToolFinished")).toMatchObject([{ outcome: "error" }]);
  expect(JSON.stringify(events)).not.toContain("hunter2");
});

test.each([
  ["throws", throwing],
  ["gives", returning],
])("the app chooses what the model reads about an error that a tool %s", async (_, charge) => {
  const seen: unknown[] = [];
  const onToolError = (error: unknown): string => {
    seen.push(error);
    return "It did not work.";
  };
  const { turn, events } = await run([calling(["charge", "{}"]), "done"], { tools: [charge], onToolError });
  expect(seen).toEqual([trouble]);
  expect(resultsOf(turn)).toEqual(["It did not work."]);
  expect(dataOf(events, "ToolFinished")).toMatchObject([{ outcome: "error" }]);
});

test.each([
  ["arguments that are not of the schema", "charge", '{"euros": "many"}', /^invalid arguments: .*euros/s],
  ["a tool that is not there", "refund", "{}", /^there is no tool named refund$/],
] as const)("the app is asked what to say of %s", async (_, name, given, message) => {
  const charge = tool({ ...definition(), inputSchema: z.object({ euros: z.number() }), execute: () => "charged" });
  const messages: string[] = [];
  const onToolError = (error: unknown): string => {
    messages.push(error instanceof Error ? error.message : "");
    return "told";
  };
  const { turn } = await run([calling([name, given]), "done"], { tools: [charge], onToolError });
  expect(messages).toEqual([expect.stringMatching(message)]);
  expect(resultsOf(turn)).toEqual(["told"]);
});

test.each<[string, () => unknown]>([
  ["throws", () => user([undefined as never])],
  ["gives no text", () => undefined],
  ["gives a promise", () => Promise.reject(new Error("late"))],
])("if the app's onToolError %s, the model reads nothing of the error, and the run continues", async (_, say) => {
  const onToolError = say as () => string;
  const { turn, outcome } = await run([calling(["charge", "{}"]), "done"], { tools: [throwing], onToolError });
  expect(resultsOf(turn)).toEqual(["Error: the tool failed, and onToolError gave no text for it"]);
  expect(outcome).toMatchObject({ status: "completed" });
});
