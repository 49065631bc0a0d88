import {
  isJsonList,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  objectsOf,
  textOrEmpty,
  textOrNull,
} from "../../base/json.ts";
import { ProviderError } from "../../engine/ports/provider-error.ts";
import type { StoredChain, StoredResponse } from "../../engine/ports/stored-responses.ts";
import { idUnfinished } from "./background.ts";
import { kindOfItem } from "./item-kinds.ts";
import { isStateItem } from "./reasoning-groups.ts";
import type { InputItemsOptions, InputItemsPage, ResponsesEndpoints } from "./responses-endpoints.ts";

type Reading = Pick<ResponsesEndpoints, "retrieve" | "inputItems"> & { readonly settings: JsonObject };

/**
 * A stored response and those that it continues from, as far back as the server has them. A listing should hold only a response's own
 * items; since the documentation does not exclude that it repeats its ancestors' items, those are left out.
 *
 * @throws {ProviderError} if the response is missing or not finished, or a listing cannot be read.
 */
export async function readStoredChain(
  reading: Reading,
  responseId: string,
  { signal }: { readonly signal?: AbortSignal | undefined } = {},
): Promise<StoredChain> {
  const found: { readonly id: string; readonly response: JsonObject }[] = [];
  let before: StoredChain["before"] = null;
  for (let id: string | null = responseId; id !== null; ) {
    const response: JsonObject | null = await retrieved(reading, id, { isFirst: found.length === 0, signal });
    if (response === null || found.length === maxResponses) {
      before = { id, reason: response === null ? "not-found" : "too-many" };
      break;
    }
    found.unshift({ id, response });
    const { previous_response_id: previous, conversation } = response;
    if (isJsonObject(conversation)) before = { id: textOrEmpty(conversation["id"]), reason: "conversation" };
    id = textOrNull(previous);
  }
  const known = new Set<string>();
  const responses: StoredResponse[] = [];
  for (const { id, response } of found) {
    const all = await listed((options) => reading.inputItems(id, options), signal);
    const items = all.filter((item) => !isKnown(known, item));
    for (const item of [...items, ...objectsOf(response["output"])]) note(known, item);
    const settings = settingsIn(response, reading.settings);
    responses.push({ id, input: { status: "completed", output: items }, response, settings });
  }
  return { responses, before };
}

/** Lists the items of a conversation object. */
type ItemListing = (options: InputItemsOptions) => Promise<InputItemsPage>;

/**
 * The items of a conversation object, cut after each stretch of the model's output: the object does not say which response an item came in.
 *
 * @throws {ProviderError} if the object is missing, or a listing cannot be read.
 */
export async function readStoredConversation(
  list: ItemListing,
  { signal }: { readonly signal?: AbortSignal | undefined } = {},
): Promise<StoredChain> {
  const responses: StoredResponse[] = [];
  const input: JsonObject[] = [];
  const output: JsonObject[] = [];
  const end = (): void => {
    const given = { status: "completed", output: input.splice(0) };
    responses.push({
      id: null,
      input: given,
      response: { status: "completed", output: output.splice(0) },
      settings: {},
    });
  };
  for (const item of await listed(list, signal)) {
    const isOwn = isModelsOwn(item);
    if (!isOwn && output.length > 0) end();
    (isOwn ? output : input).push(item);
  }
  if (input.length + output.length > 0) end();
  return { responses, before: null };
}

function isModelsOwn(item: JsonObject): boolean {
  const kind = kindOfItem(item);
  return kind === "other" ? !isStateItem(item["type"]) : kind !== "user" && kind !== "system" && kind !== "tool_result";
}

/** Limits for the responses that are read, and for the pages of each listing. */
const maxResponses = 10_000;
const maxPages = 10_000;

const include = ["reasoning.encrypted_content"];

async function retrieved(
  { retrieve }: Reading,
  id: string,
  { isFirst, signal }: { readonly isFirst: boolean; readonly signal: AbortSignal | undefined },
): Promise<JsonObject | null> {
  try {
    const response = await retrieve(id, { include, signal });
    if (idUnfinished(response) === null) return response;
    const text = `${id} is not complete (${textOrEmpty(response["status"])}): import it when it is`;
    throw new ProviderError(text, { kind: "invalid-request", outcome: "rejected", body: response });
  } catch (error) {
    if (!isFirst && error instanceof ProviderError && error.status === 404) return null;
    throw error;
  }
}

async function listed(list: ItemListing, signal: AbortSignal | undefined): Promise<readonly JsonObject[]> {
  const items: JsonObject[] = [];
  let after: string | undefined;
  for (let page = 0; page < maxPages; page += 1) {
    const { items: here, lastId, hasMore } = await list({ order: "asc", limit: 100, after, include, signal });
    items.push(...here);
    if (!hasMore || lastId === null || lastId === after) break;
    after = lastId;
  }
  return items;
}

const isKnown = (known: ReadonlySet<string>, { id }: JsonObject): boolean => typeof id === "string" && known.has(id);

function note(known: Set<string>, { id }: JsonObject): void {
  if (typeof id === "string") known.add(id);
}

/** The settings that a response reports: those that the provider uses, and instructions and tools. */
function settingsIn(response: JsonObject, asked: JsonObject): JsonObject {
  const names = new Set([...Object.keys(asked), "instructions", "tools"]);
  const told = [...names].flatMap((name): [string, JsonValue][] => {
    const value = response[name];
    const isNothing = value === undefined || value === null || (isJsonList(value) && value.length === 0);
    return isNothing ? [] : [[name, name === "model" ? modelOf(value, asked) : value]];
  });
  return Object.fromEntries(told);
}

/** Servers report the version (`gpt-5.4-2026-03-05`) of a model that was requested by name. */
function modelOf(told: JsonValue, { model }: JsonObject): JsonValue {
  return typeof told === "string" && typeof model === "string" && told.startsWith(`${model}-`) ? model : told;
}
