import { countsSaid, givenSaid, idSaid, noise, strangersIn, type Untidy, withMember } from "./untidy.ts";
import { isObject, type Json, type JsonObject, objectsOf, stringOf } from "./wire.ts";

/** Members that servers which imitate OpenAI's Responses API omit from a response. */
const seldomSaid = ["incomplete_details", "error", "metadata", "tools", "text", "truncation", "completed_at", "user"];

/** A response in the form of such servers. */
export function untidyResponse(untidy: Untidy, body: JsonObject): JsonObject {
  const all = objectsOf(body["output"]);
  const output = all.map((item) => itemSaid(untidy, item, mayLackIds(all)));
  const left = untidy.pick([[], seldomSaid, seldomSaid.slice(0, 2)]);
  const said = Object.fromEntries(Object.entries(body).filter(([name]) => !left.includes(name)));
  return withMember({ ...said, output, ...strangersIn(untidy) }, "usage", countsSaid(untidy, body["usage"]));
}

/** Items of other types, and items that belong to them, are sent back under their ids. */
const mayLackIds = (items: readonly JsonObject[]): boolean =>
  items.every(({ type }) => type === "message" || type === "function_call");

function itemSaid(untidy: Untidy, item: JsonObject, mayLackId: boolean): JsonObject {
  const isPlain = item["type"] === "message" || item["type"] === "function_call";
  const named = isPlain ? withStatus(untidy, item) : item;
  const said = mayLackId ? idSaid(untidy, named, "id") : named;
  if (item["type"] === "message")
    return { ...said, content: objectsOf(item["content"]).map((part) => partSaid(untidy, part)) };
  if (item["type"] !== "function_call") return said;
  const { arguments: given, ...others } = said;
  return { ...others, ...givenSaid(untidy, "arguments", given, ["tidy", "object"]) };
}

const withStatus = (untidy: Untidy, item: JsonObject): JsonObject =>
  withMember(item, "status", untidy.pick<Json | undefined>([item["status"], item["status"], null, undefined]));

function partSaid(untidy: Untidy, { annotations, logprobs, ...part }: JsonObject): JsonObject {
  const beside = {
    ...(annotations === undefined ? {} : { annotations }),
    ...(logprobs === undefined ? {} : { logprobs }),
  };
  const isEmpty = objectsOf(annotations ?? null).length === 0;
  return { ...part, ...(isEmpty ? untidy.pick<JsonObject>([beside, {}, { annotations: null }]) : beside) };
}

/**
 * The same for the events of a stream: numbers as texts, all equal or absent, no events that announce or end a part, no
 * deltas, an end with empty output, and unknown events.
 */
export function untidyEvents(untidy: Untidy, frames: readonly JsonObject[]): readonly JsonObject[] {
  const numbers = untidy.pick(["tidy", "texts", "zero", "absent"] as const);
  const left = untidy.pick<RegExp | null>([
    null,
    /content_part|in_progress|_part\./,
    /\.delta$/,
    /_(text|arguments)\.done$/,
  ]);
  const isEmptyAtEnd = untidy.pick([false, false, true]);
  const items = frames.flatMap(({ type, item }) =>
    type === "response.output_item.done" && isObject(item) ? [item] : [],
  );
  const how = { isEmptyAtEnd, mayLackIds: mayLackIds(items) };
  const said = frames
    .filter(({ type }) => left === null || !left.test(stringOf(type) ?? ""))
    .map((frame) => numbered(untidy, numbers, frameSaid(untidy, frame, how)));
  const stranger = { type: "response.unheard_of", x: null };
  return untidy.pick([said, [...said.slice(0, 1), stranger, ...said.slice(1)], [{ type: "keepalive" }, ...said]]);
}

function frameSaid(
  untidy: Untidy,
  frame: JsonObject,
  { isEmptyAtEnd, mayLackIds: lack }: { readonly isEmptyAtEnd: boolean; readonly mayLackIds: boolean },
): JsonObject {
  const { response, item, type } = frame;
  if (isObject(item) && type === "response.output_item.done") return { ...frame, item: itemSaid(untidy, item, lack) };
  if (!isObject(response) || !/\.(completed|incomplete)$/.test(stringOf(type) ?? "")) return frame;
  const ended = untidyResponse(untidy, response);
  return { ...frame, response: isEmptyAtEnd ? { ...ended, output: untidy.pick<Json>([[], null]) } : ended };
}

function numbered(
  untidy: Untidy,
  how: "tidy" | "texts" | "zero" | "absent",
  { sequence_number: number = 0, ...frame }: JsonObject,
): JsonObject {
  switch (how) {
    case "texts":
      return { ...frame, sequence_number: JSON.stringify(number) };
    case "zero":
      return { ...frame, sequence_number: 0 };
    case "absent":
      return untidy.pick<JsonObject>([frame, { ...frame, sequence_number: null }]);
    case "tidy":
      return { ...frame, sequence_number: number };
  }
}

/**
 * Events as text, with or without their names, with lines without data in between. Nothing follows the last event: after a cut there,
 * the client would have a complete answer that the server considers broken off.
 */
export function untidyStream(untidy: Untidy, frames: readonly JsonObject[]): string {
  const isNamed = untidy.pick([true, false]);
  const texts = frames.map((frame, index) => {
    const name = isNamed ? `event: ${stringOf(frame["type"]) ?? ""}\n` : "";
    return `${name}data: ${JSON.stringify(frame)}\n\n${index === frames.length - 1 ? "" : noise(untidy)}`;
  });
  return texts.join("");
}
