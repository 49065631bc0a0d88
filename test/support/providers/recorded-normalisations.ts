import { canonicalJson } from "../../../src/base/canonical-json.ts";
import { isJsonList, type JsonObject, type JsonValue } from "../../../src/base/json.ts";
import { itemsOf } from "./recorded-cases.ts";

/** A difference between two bodies that says the same to a server, by what is taken away of both. */
type Normalisation = {
  readonly name: string;
  readonly body?: (body: JsonObject) => JsonObject;
  /** `other` is the item in its place in the other body. */
  readonly item?: (item: JsonObject, other: JsonObject | undefined) => JsonObject;
};

/** All of them. Each is needed: the test says so. */
export const normalisations: readonly Normalisation[] = [
  { name: "a member that is null is one that is absent", body: withoutNulls, item: withoutNulls },
  {
    name: "an answer that is not streamed is the default",
    body: (body) => without(body, (name, value) => name === "stream" && value === false),
  },
  {
    name: "an input that is a text is one message of the user",
    body: (body) =>
      typeof body["input"] === "string" ? { ...body, input: [{ role: "user", content: body["input"] }] } : body,
  },
  { name: "what has a role is a message", item: (item) => ("role" in item ? { ...item, type: "message" } : item) },
  {
    name: "a content that is a text is one part of it",
    item: (item) =>
      typeof item["content"] === "string"
        ? { ...item, content: [{ type: textType(item), text: item["content"] }] }
        : item,
  },
  {
    name: "a part without annotations and likelihoods has empty lists of them",
    item: (item) =>
      item["type"] !== "message" ? item : { ...item, content: itemsOf(item["content"]).map(withoutEmptyLists) },
  },
  { name: "the status of an item is the server's own", item: (item) => without(item, (name) => name === "status") },
  {
    name: "an id that only one of both names may be left out",
    item: (item, other) => (other?.["id"] === undefined ? without(item, (name) => name === "id") : item),
  },
  {
    name: "an item that a server's tool made is what the server keeps under its id",
    item: (item, other) =>
      isHosted(item) && item["id"] !== undefined && item["id"] === other?.["id"]
        ? { type: item["type"] ?? null, id: item["id"] }
        : item,
  },
];

/** Whether two bodies are equal as canonical JSON once these normalisations are made. */
export function areEqual(left: JsonObject, right: JsonObject, by = normalisations): boolean {
  let bodies = [left, right] as const;
  for (const { body = same } of by) bodies = [body(bodies[0]), body(bodies[1])];
  for (const { item = same } of by) {
    const [ours, theirs] = [itemsIn(bodies[0]), itemsIn(bodies[1])];
    bodies = [
      { ...bodies[0], input: ours.map((each, index) => item(each, theirs[index])) },
      { ...bodies[1], input: theirs.map((each, index) => item(each, ours[index])) },
    ];
  }
  return canonicalJson(bodies[0]) === canonicalJson(bodies[1]);
}

const hostedTypes: ReadonlySet<string> = new Set([
  ...["code_interpreter_call", "mcp_call", "mcp_list_tools", "tool_search_call", "tool_search_output"],
]);

const isHosted = ({ type }: JsonObject): boolean => typeof type === "string" && hostedTypes.has(type);
const itemsIn = ({ input }: JsonObject): readonly JsonObject[] => itemsOf(input);
const same = (value: JsonObject): JsonObject => value;

function withoutNulls(object: JsonObject): JsonObject {
  return without(object, (_, value) => value === null);
}

const withoutEmptyLists = (part: JsonObject): JsonObject =>
  without(withoutNulls(part), (name, value) => ["annotations", "logprobs"].includes(name) && isEmptyList(value));

const isEmptyList = (value: JsonValue): boolean => isJsonList(value) && value.length === 0;

function without(object: JsonObject, isLeftOut: (name: string, value: JsonValue) => boolean): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([name, value]) => !isLeftOut(name, value ?? null)));
}

const textType = ({ role }: JsonObject): string => (role === "assistant" ? "output_text" : "input_text");
