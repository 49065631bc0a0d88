import { canonicalJson } from "../../base/canonical-json.ts";
import { isJsonList, isJsonObject, type JsonObject, type JsonValue, setMember, withLiterals } from "../../base/json.ts";
import type { Block } from "../../domain/block.ts";
import { blockToJson } from "../../domain/block-json.ts";
import type { InferenceRequestedData, ResponseReceivedData } from "../../domain/events/inference-events.ts";
import type { BlockId } from "../../domain/ids.ts";
import type { Codec } from "../stack/codec.ts";
import type { Provider } from "../stack/provider.ts";

type Decoding = {
  readonly request: InferenceRequestedData;
  readonly settings: JsonObject;
  readonly provider: Pick<Provider, "scope" | "codec">;
  readonly newBlockId: () => BlockId;
  /** Something in the response was a secret. */
  readonly isMasked?: boolean;
};

/** A response as its event holds it, and its items as blocks. */
export function decodeResponse(
  given: JsonObject,
  { request, settings, provider, newBlockId, isMasked = false }: Decoding,
): { readonly data: ResponseReceivedData; readonly blocks: readonly Block[] } {
  const kept = withLiterals(given);
  const response = isJsonObject(kept) ? kept : given;
  const { items, strays } = itemsOf(response);
  const status = typeof response["status"] === "string" ? response["status"] : null;
  const store = response["store"] ?? settings["store"] ?? request.decision.capabilities.storeDefault;
  // Under the ids of masked items the server holds what the log does not: they are not sent by them.
  const stored = store === true && !isMasked;
  const isComplete = status === null ? !hasError(response) : ["completed", "complete"].includes(status);
  const blocks = items.map((item, index, { length: size }) =>
    provider.codec
      .decodeItem(item, {
        scope: provider.scope,
        group: { id: request.inferenceId, index, size, stored },
        ...(isComplete ? {} : { partial: true }),
      })
      .withId(newBlockId()),
  );
  const { fields, echoed } = separateEchoes(response, settings);
  const data = {
    inferenceId: request.inferenceId,
    responseId: typeof response["id"] === "string" ? response["id"] : null,
    status,
    isComplete,
    ...(isMasked ? { isMasked } : {}),
    output: blocks.map(blockToJson),
    ...(strays.length === 0 ? {} : { strays }),
    ...(response["usage"] === undefined ? {} : { usage: response["usage"] }),
    fields,
    echoed,
  };
  return { data, blocks };
}

/** The response as it was received: equal as JSON, order of members aside. */
export function rebuildResponse(
  { data, blocks }: { readonly data: ResponseReceivedData; readonly blocks: readonly Block[] },
  settings: JsonObject,
  codec: Codec,
): JsonObject {
  const response: Record<string, JsonValue> = {};
  if (data.responseId !== null) response["id"] = data.responseId;
  if (data.status !== null) response["status"] = data.status;
  if (!Object.hasOwn(data.fields, "output")) {
    const output: JsonValue[] = blocks.map((block) => codec.encodeItem(block));
    for (const { index, value } of data.strays ?? []) output.splice(index, 0, value);
    response["output"] = output;
  }
  if (data.usage !== undefined) response["usage"] = data.usage;
  for (const name of data.echoed) setMember(response, name, settings[name] ?? null);
  for (const [name, value] of Object.entries(data.fields)) if (value !== undefined) setMember(response, name, value);
  return response;
}

/** Whether a response says that something went wrong. */
export const hasError = ({ error }: JsonObject): boolean => (error ?? null) !== null;

type Stray = { readonly index: number; readonly value: JsonValue };

/** The items of a response, and what stands among them and is none. Where its output is no list, that is kept as it is. */
function itemsOf({ output }: JsonObject): { readonly items: readonly JsonObject[]; readonly strays: Stray[] } {
  const members = isJsonList(output) ? output : [];
  const strays = members.flatMap((value, index) => (isJsonObject(value) ? [] : [{ index, value }]));
  return { items: members.filter(isJsonObject), strays };
}

/** Servers echo tools and instructions, tens of kilobytes: what equals the request is named, not stored. */
function separateEchoes(response: JsonObject, settings: JsonObject) {
  const fields: Record<string, JsonValue> = {};
  const echoed: string[] = [];
  for (const [name, value] of Object.entries(response)) {
    if (value === undefined) continue;
    const isTold =
      (name === "output" && isJsonList(value)) ||
      name === "usage" ||
      ((name === "id" || name === "status") && typeof value === "string");
    if (isTold) continue;
    const sent = Object.hasOwn(settings, name) ? settings[name] : undefined;
    if (sent !== undefined && canonicalJson(sent) === canonicalJson(value)) echoed.push(name);
    else setMember(fields, name, value);
  }
  return { fields, echoed };
}
