import { expect, onTestFinished, test } from "vitest";
import {
  functionCall,
  type JsonObject,
  message,
  type ReferenceServer,
  type ReferenceServerOptions,
  readItems,
  reasoning,
  startReferenceServer,
} from "../../packages/reference-server/src/server.ts";
import { accepted, create, idOf, outputOf, user } from "../support/reference-server/wire-client.ts";

const include = ["reasoning.encrypted_content"];
const stateless = { store: false, include };

/** A server that checks reasoning, and what it answered to two questions, sent whole each time. */
async function twoTurns(checksReasoning: NonNullable<ReferenceServerOptions["checksReasoning"]>) {
  const server = await startReferenceServer({
    checksReasoning,
    answer: ({ request }) => ({ output: [reasoning({ summary: `thought ${request}` }), message(`answer ${request}`)] }),
  });
  onTestFinished(() => server[Symbol.asyncDispose]());
  const settings = { ...stateless, instructions: "Be brief." };
  const first = outputOf(await accepted(server, { ...settings, input: [user("one")] }));
  const second = outputOf(await accepted(server, { ...settings, input: [user("one"), ...first, user("two")] }));
  const ids = [idOf(first[0]), idOf(second[0])] as const;
  return { server, settings, first, second, ids };
}

/** As clients send what they do not send whole: an id would ask for the reasoning before it. */
const bare = ({ id: _, ...item }: JsonObject): JsonObject => item;

const removed = (id: string | undefined, reason: string): JsonObject => ({
  ...{ type: "reasoning", id: id ?? null, action: "removed", reason },
});

const thoughtsRead = (server: ReferenceServer, body: JsonObject): number =>
  readItems(server.reading(idOf(body))?.items ?? []).filter((line) => line.includes("| reasoning |")).length;

test("reasoning is read behind what stood before it, with its id or without", async () => {
  const { server, settings, first, second } = await twoTurns("withholds");
  const input = [user("one"), ...first, user("two"), ...second.map(bare), user("three")];
  const body = await accepted(server, { ...settings, input });
  expect(body["input_transformations"]).toBeUndefined();
  expect(thoughtsRead(server, body)).toBe(2);
});

test.each<readonly [string, (now: JsonObject, items: JsonObject[]) => JsonObject, readonly [boolean, boolean]]>([
  ["the instructions", (body) => ({ ...body, instructions: "Be kind." }), [true, true]],
  ["the tools", (body) => ({ ...body, tools: [{ type: "function", name: "f", parameters: {} }] }), [true, true]],
  ["the first question", (body, [, ...rest]) => ({ ...body, input: [user("ONE"), ...rest] }), [true, true]],
  ["a message between them", (body, items) => ({ ...body, input: items.toSpliced(3, 1, user("TWO")) }), [false, true]],
  ["an inserted message", (body, items) => ({ ...body, input: items.toSpliced(3, 0, user("and")) }), [false, true]],
  ["a removed answer", (body, items) => ({ ...body, input: items.toSpliced(1, 2) }), [false, true]],
  ["what stands behind it", (body, items) => ({ ...body, input: items.with(-1, user("THREE")) }), [false, false]],
])(
  "an edit of %s is reported, and the model does not get what followed it",
  async (_what, edit, [isFirst, isSecond]) => {
    const { server, settings, first, second, ids } = await twoTurns("withholds");
    const items = [user("one"), ...first, user("two"), ...second, user("three")];
    const body = await accepted(server, edit({ ...settings, input: items }, items));
    const withheld = [...(isFirst ? [ids[0]] : []), ...(isSecond ? [ids[1]] : [])];
    const told = withheld.map((id) => removed(id, "prefix_mismatch"));
    expect(body["input_transformations"]).toEqual(told.length === 0 ? undefined : told);
  },
);

test("the oldest reasoning may be missing, one in the middle may not", async () => {
  const { server, settings, first, second } = await twoTurns("withholds");
  const [one = {}, two = {}] = [first[0], second[0]].map((item) => bare(item ?? {}));
  const items = [
    user("one"),
    one,
    ...first.slice(1).map(bare),
    user("two"),
    two,
    ...second.slice(1).map(bare),
    user("three"),
  ];
  const third = outputOf(await accepted(server, { ...settings, input: items }));
  const all = [...items, ...third, user("four")];
  const withoutOldest = await accepted(server, { ...settings, input: all.filter((item) => item !== one) });
  expect(withoutOldest["input_transformations"]).toBeUndefined();
  const withoutMiddle = await accepted(server, { ...settings, input: all.filter((item) => item !== two) });
  expect(withoutMiddle["input_transformations"]).toEqual([removed(idOf(third[0]), "prefix_mismatch")]);
});

test("another model and a request for the current turn only are reported as such", async () => {
  const { server, settings, first, second, ids } = await twoTurns("withholds");
  const input = [user("one"), ...first, user("two"), ...second, user("three")];
  const otherModel = await accepted(server, { ...settings, model: "other", input });
  expect(otherModel["input_transformations"]).toEqual(ids.map((id) => removed(id, "model_mismatch")));
  const current = await accepted(server, { ...settings, reasoning: { context: "current_turn" }, input });
  expect(current["input_transformations"]).toEqual(ids.map((id) => removed(id, "turn_boundary")));
});

test("with a chained request the server looks at what it holds itself", async () => {
  const server = await startReferenceServer({
    checksReasoning: "withholds",
    answer: () => ({ output: [reasoning({ summary: "thought" }), message("answer")] }),
  });
  onTestFinished(() => server[Symbol.asyncDispose]());
  const first = await accepted(server, { instructions: "Be brief.", input: "one" });
  const chained = { previous_response_id: idOf(first), input: "two" };
  const same = await accepted(server, { ...chained, instructions: "Be brief." });
  expect(same["input_transformations"]).toBeUndefined();
  const other = await accepted(server, { ...chained, instructions: "Be kind." });
  expect(other["input_transformations"]).toEqual([removed(idOf(outputOf(first)[0]), "prefix_mismatch")]);
});

test("a server that refuses names the first item that is bound to another conversation", async () => {
  const { server, settings, first, second, ids } = await twoTurns("refuses");
  const edited = [user("ONE"), ...first, user("two"), ...second, user("three")];
  const refused = await create(server, { ...settings, input: edited });
  expect(refused).toMatchObject({ status: 400, body: { error: { code: "invalid_encrypted_content" } } });
  expect(JSON.stringify(refused.body)).toContain(ids[0]);
  const isThought = ({ type }: JsonObject): boolean => type === "reasoning";
  const input = edited.filter((item) => !isThought(item)).map(bare);
  const without = await create(server, { ...settings, input });
  expect(without.status).toBe(200);
});

test("a server that does not check takes whatever its keys open", async () => {
  const server = await startReferenceServer({
    answer: () => ({ output: [reasoning(), functionCall("f", "{}", { callId: "c" })] }),
  });
  onTestFinished(() => server[Symbol.asyncDispose]());
  const output = outputOf(await accepted(server, { ...stateless, input: [user("one")] }));
  const result = { type: "function_call_output", call_id: "c", output: "r" };
  const body = await accepted(server, { ...stateless, input: [user("ONE"), ...output, result] });
  expect(body["input_transformations"]).toBeUndefined();
});
