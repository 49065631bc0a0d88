import { expect, test } from "vitest";
import {
  expectedReading,
  type Fault,
  type JsonObject,
  type Judgement,
  judge,
  message,
  type ReferenceServerOptions,
  readItems,
  startReferenceServer,
} from "../../packages/reference-server/src/server.ts";
import { isObject } from "../../packages/reference-server/src/wire.ts";
import {
  expectations,
  firstAnswer,
  inputs,
  openingItems,
  png,
  replaceText,
  said,
  script,
  settings,
  tools,
} from "../support/reference-server/played-conversation.ts";
import { create, idOf, omit, outputOf, user } from "../support/reference-server/wire-client.ts";

type Corrupt = (body: JsonObject, responses: readonly JsonObject[]) => JsonObject;

/** A correct client, but for what `corrupt` does to one of its five bodies on the way. */
async function play(
  plant: {
    readonly at?: number;
    readonly corrupt?: Corrupt;
    readonly fault?: Fault;
    readonly options?: ReferenceServerOptions;
  } = {},
): Promise<Judgement & { readonly request: number; readonly refusal?: JsonObject }> {
  await using server = await startReferenceServer({ script, ...plant.options });
  const responses: JsonObject[] = [];
  const sent: JsonObject[] = [];
  for (let request = 0; request < 5; request += 1) {
    const input = inputs[request]?.(sent, responses) ?? [];
    sent.push(...(request < 3 ? input : []));
    const anchor = request === 0 || request === 3 ? {} : { previous_response_id: idOf(responses.at(-1)) };
    const body = { ...settings, input, ...anchor };
    if (request === plant.at && plant.fault !== undefined) server.inject(plant.fault);
    const { status, body: answer } = await create(
      server,
      request === plant.at && plant.corrupt !== undefined ? plant.corrupt(body, responses) : body,
    );
    const reading = server.reading(server.requests.length - 1);
    if (status !== 200 || reading === undefined) {
      return {
        coherent: false,
        request,
        refusal: answer,
        index: 0,
        expected: undefined,
        actual: undefined,
        summary: "refused",
      };
    }
    responses.push(answer);
    const searchId = idOf(outputOf(responses[1] ?? {})[0]);
    const verdict = judge(expectations(searchId)[request] ?? [], readItems(reading.items, reading));
    if (!verdict.coherent) return { ...verdict, request };
  }
  return { coherent: true, request: 5 };
}

const inputOf = (body: JsonObject): readonly JsonObject[] => outputOf({ output: body["input"] ?? [] });
/** Rewrites the input of one request. */
const onInput =
  (change: (input: readonly JsonObject[], responses: readonly JsonObject[]) => readonly JsonObject[]): Corrupt =>
  (body, responses) => ({ ...body, input: change(inputOf(body), responses) });
const swapText = (from: string, to: string): Corrupt => onInput((input) => replaceText(input, from, to));
const without = (matches: (item: JsonObject) => boolean): Corrupt =>
  onInput((input) => input.filter((item) => !matches(item)));
const holds = (text: string) => (item: JsonObject) => JSON.stringify(item).includes(text);
// A hosted item cannot do without its id.
const withoutIds = (items: readonly JsonObject[]) =>
  items.map(({ id = "", ...item }) => (item["type"] === "web_search_call" ? { id, ...item } : item));
const isHosted = holds("web_search_call");
const onItem = (text: string, change: (item: JsonObject) => JsonObject): Corrupt =>
  onInput((input) => input.map((item) => (holds(text)(item) ? change(item) : item)));
const swapped = (input: readonly JsonObject[], a: number, b: number) =>
  input.with(a, input.at(b) ?? {}).with(b, input.at(a) ?? {});

test("the correct client is coherent in all five requests, in full and chained", async () => {
  expect(await play()).toEqual({ coherent: true, request: 5 });
});

test.each<readonly [string, number, Corrupt]>([
  [
    "a lost text part",
    0,
    onItem("user-nonce-1", (item) => ({ ...item, content: [{ type: "input_image", image_url: png("AAAA") }] })),
  ],
  ["a lost image", 0, onItem("user-nonce-1", (item) => ({ ...item, content: "user-nonce-1" }))],
  ["another image", 0, swapText("AAAA", "CCCC")],
  ["another detail of an image", 0, swapText('"type":"input_image"', '"type":"input_image","detail":"low"')],
  ["a swapped role", 0, onItem("user-nonce-2", (item) => ({ ...item, role: "developer" }))],
  ["system instead of developer", 0, onItem("developer-nonce", (item) => ({ ...item, role: "system" }))],
  ["missing instructions", 0, (body) => omit(body, "instructions")],
  ["instructions forgotten in a chained request", 1, (body) => omit(body, "instructions")],
  ["a dropped tool definition", 1, (body) => ({ ...body, tools: tools.slice(1) })],
  ["a changed tool definition", 2, (body) => ({ ...body, tools: replaceText(tools, "tool-nonce-2", "tool-nonce-3") })],
  ["a duplicated user message", 0, onInput((input) => [...input, ...input.slice(-1)])],
  ["reordered blocks", 0, onInput((input) => swapped(input, 2, 3))],
  ["two parts made one", 1, onItem("noon-nonce", (item) => ({ ...item, output: "noon-nonce" }))],
  [
    "results swapped between parallel calls",
    1,
    onInput(([a, b]) => [
      { ...a, output: b?.["output"] ?? "" },
      { ...b, output: a?.["output"] ?? "" },
    ]),
  ],
  [
    "an extra ephemeral left in the context",
    1,
    onInput((input) => [...input, { role: "developer", content: "ephemeral-nonce" }]),
  ],
  ["truncated text", 2, swapText("user-nonce-3", "user-nonce-")],
  ["everything resent behind an anchor", 2, onInput((input) => [...openingItems, ...input])],
  [
    "a newer suffix on an older anchor",
    4,
    (body, responses) => ({ ...body, previous_response_id: idOf(responses[2]) }),
  ],
  ["an older suffix on a newer anchor", 4, onInput(() => [user("user-nonce-4"), user("user-nonce-5")])],
  [
    "a full request that still has its anchor",
    3,
    (body, responses) => ({
      ...body,
      input: withoutIds(inputOf(body).filter((item) => !isHosted(item))),
      previous_response_id: idOf(responses[2]),
    }),
  ],
  ["a suffix without its anchor", 4, (body) => omit(body, "previous_response_id")],
  ["a stale edit", 3, swapText("edited-nonce-1", "user-nonce-1")],
  ["a changed argument byte", 3, swapText('nonce-1\\"', 'nonce-7\\"')],
  [
    "a wrong call name",
    3,
    onItem('"call_id":"call_w"', (item) => ("name" in item ? { ...item, name: "wether" } : item)),
  ],
  ["a dropped parallel call with its result", 3, without(holds('"call_id":"call_t"'))],
  [
    "a result attached to the wrong call",
    3,
    onItem('"name":', (item) => ({ ...item, call_id: item["call_id"] === "call_w" ? "call_t" : "call_w" })),
  ],
  ["a missing refusal", 3, without(holds("refusal-nonce"))],
  [
    "a refusal that became text",
    3,
    onItem("refusal-nonce", (item) => ({ ...omit(item, "id"), content: "refusal-nonce" })),
  ],
  ["a changed phase", 3, onItem("commentary-nonce", (item) => ({ ...item, phase: "final_answer" }))],
  ["a lost phase", 3, onItem("final-nonce", (item) => omit(item, "phase"))],
  ["a lost hosted item", 3, without(isHosted)],
  ["lost reasoning", 3, onInput((input) => withoutIds(input.filter(({ type }) => type !== "reasoning")))],
  [
    "an assistant message put where the user spoke",
    3,
    onItem("user-nonce-3", () => ({ role: "assistant", content: "user-nonce-3" })),
  ],
])("the judge turns red on %s", async (_what, at, corrupt) => {
  const verdict = await play({ at, corrupt });
  expect(verdict).toMatchObject({ coherent: false, request: at });
  expect(verdict.refusal).toBeUndefined();
});

test.each<readonly [string, number, RegExp, Corrupt]>([
  ["a dropped parallel result", 1, /^No tool output found/, onInput((input) => input.slice(0, 1))],
  ["a result sent twice", 1, /^No tool call found/, onInput((input) => [...input, ...input.slice(0, 1)])],
  [
    "items of the anchor sent again",
    2,
    /^Duplicate item found/,
    (body, responses) => ({ ...body, input: [...outputOf(responses[1] ?? {}), ...inputOf(body)] }),
  ],
  [
    "a call cut off from its reasoning",
    3,
    /without its required 'reasoning' item/,
    without(({ type }) => type === "reasoning"),
  ],
  [
    "reasoning cut off from what followed",
    3,
    /without its required following item/,
    without(holds("commentary-nonce")),
  ],
])("the server itself refuses %s", async (_what, at, expected, corrupt) => {
  const verdict = await play({ at, corrupt });
  expect(verdict.request).toBe(at);
  const error = verdict.refusal?.["error"];
  expect(isObject(error) ? error["message"] : "").toMatch(expected);
});

test.each<readonly [string, number, { readonly fault?: Fault; readonly options?: ReferenceServerOptions }]>([
  ["that ignores the id once", 2, { fault: { kind: "ignore-previous" } }],
  ["that withholds reasoning", 2, { fault: { kind: "withhold", reason: "prefix_mismatch" } }],
  ["that ignores all ids", 1, { options: { noChain: "ignored", answer: () => ({ output: [message("x")] }) } }],
  ["that drops system messages", 1, { options: { dropsSystem: true } }],
])("the judge turns red on a server %s", async (what, at, plant) => {
  const verdict = await play({ at, ...plant });
  expect(verdict.coherent).toBe(false);
  // A server that forgot the calls says so before the judge can.
  if (what !== "that ignores all ids") expect(verdict.refusal).toBeUndefined();
  expect(verdict.request).toBe(at);
});

test("lost reasoning is lawful where the policy says so", () => {
  const [before = [], thought = [], after = []] = [said("a"), firstAnswer[0] ?? said(""), said("b")].map((entry) =>
    expectedReading([entry]),
  );
  expect(judge([...before, ...thought, ...after], [...before, ...after], { reasoning: "subset" }).coherent).toBe(true);
});
