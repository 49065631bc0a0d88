import { canonicalJson } from "../../base/canonical-json.ts";
import { isJsonObject, type JsonObject, type JsonValue, setMember } from "../../base/json.ts";
import type { Block } from "../../domain/block.ts";
import { blockToJson } from "../../domain/block-json.ts";
import type { InferenceRequestedData, ResponseReceivedData } from "../../domain/events/inference-events.ts";
import type { BlockId } from "../../domain/ids.ts";
import type { ItemCodec, Provider } from "../ports/provider.ts";

type Decoding = {
  readonly request: InferenceRequestedData;
  readonly settings: JsonObject;
  readonly provider: Pick<Provider, "scope" | "codec" | "completedStatuses">;
  readonly newBlockId: () => BlockId;
  /** Something in the response was a secret. */
  readonly isMasked?: boolean;
};

/** A response as its event holds it, and its items as blocks. */
export function decodeResponse(
  response: JsonObject,
  { request, settings, provider, newBlockId, isMasked = false }: Decoding,
): { readonly data: ResponseReceivedData; readonly blocks: readonly Block[] } {
  const items = itemsOf(response);
  const status = typeof response["status"] === "string" ? response["status"] : null;
  const store = response["store"] ?? settings["store"] ?? request.decision.capabilities.storeDefault;
  // Under the ids of masked items the server holds what the log does not: they are not sent by them.
  const stored = store === true && !isMasked;
  const isComplete = status === null || provider.completedStatuses.includes(status);
  const blocks = (items ?? []).map((item, index, { length: size }) =>
    provider.codec
      .decodeItem(item, {
        scope: provider.scope,
        group: { id: request.inferenceId, index, size, stored },
        ...(isComplete ? {} : { partial: true }),
      })
      .withId(newBlockId()),
  );
  const { fields, echoed } = separateEchoes(response, settings, items !== null);
  const data = {
    inferenceId: request.inferenceId,
    responseId: typeof response["id"] === "string" ? response["id"] : null,
    status,
    isComplete,
    ...(isMasked ? { isMasked } : {}),
    output: blocks.map(blockToJson),
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
  codec: ItemCodec,
): JsonObject {
  const response: Record<string, JsonValue> = {};
  if (data.responseId !== null) response["id"] = data.responseId;
  if (data.status !== null) response["status"] = data.status;
  if (!Object.hasOwn(data.fields, "output")) response["output"] = blocks.map((block) => codec.encodeItem(block));
  if (data.usage !== undefined) response["usage"] = data.usage;
  for (const name of data.echoed) setMember(response, name, settings[name] ?? null);
  for (const [name, value] of Object.entries(data.fields)) if (value !== undefined) setMember(response, name, value);
  return response;
}

/** Null where the response has no list of items: then the member, if any, is kept as it is. */
function itemsOf(response: JsonObject): readonly JsonObject[] | null {
  const { output } = response;
  return Array.isArray(output) && output.every(isJsonObject) ? output : null;
}

/** Servers echo tools and instructions, tens of kilobytes: what equals the request is named, not stored. */
function separateEchoes(response: JsonObject, settings: JsonObject, hasItems: boolean) {
  const fields: Record<string, JsonValue> = {};
  const echoed: string[] = [];
  for (const [name, value] of Object.entries(response)) {
    if (value === undefined) continue;
    const isTold =
      (name === "output" && hasItems) ||
      name === "usage" ||
      ((name === "id" || name === "status") && typeof value === "string");
    if (isTold) continue;
    const sent = Object.hasOwn(settings, name) ? settings[name] : undefined;
    if (sent !== undefined && canonicalJson(sent) === canonicalJson(value)) echoed.push(name);
    else setMember(fields, name, value);
  }
  return { fields, echoed };
}
