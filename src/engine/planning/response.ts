import { canonicalJson } from "../../base/canonical-json.ts";
import { isJsonObject, type JsonObject, type JsonValue, setMember, withLiterals } from "../../base/json.ts";
import { Block } from "../../domain/block.ts";
import { blockToJson } from "../../domain/block-json.ts";
import type { BlockNames } from "../../domain/block-names.ts";
import type { InferenceRequestedData, ResponseReceivedData } from "../../domain/events/inference-events.ts";
import type { BlockId } from "../../domain/ids.ts";
import type { Answer, Codec } from "../ports/codec.ts";
import type { Provider } from "../ports/provider.ts";
import { checkAnswer } from "./check-answer.ts";
import { recordedUsage } from "./recorded-usage.ts";

type Decoding = {
  readonly request: InferenceRequestedData;
  readonly settings: JsonObject;
  readonly provider: Pick<Provider, "scope" | "codec">;
  readonly newBlockId: () => BlockId;
  /** The names under which the conversation records the blocks. */
  readonly names: BlockNames;
  /** The connection that the response came on. */
  readonly lives?: JsonObject | undefined;
  /** The response contained a secret. */
  readonly isMasked?: boolean;
};

/** A response as its event holds it, and its blocks. */
export function decodeResponse(
  given: JsonObject,
  { request, settings, provider, newBlockId, names, lives, isMasked = false }: Decoding,
): { readonly data: ResponseReceivedData; readonly blocks: readonly Block[] } {
  const kept = withLiterals(given);
  const { inferenceId } = request;
  const { scope, codec } = provider;
  const { capabilities } = request.decision;
  const answer = codec.readAnswer(isJsonObject(kept) ? kept : given, { inferenceId, settings, capabilities, lives });
  checkAnswer(answer);
  const { id, usage, rest, status, isComplete, anchor, echo, failure, withheld, contentFilters = [] } = answer;
  const blocks = blocksOf(answer, { scope, inferenceId, isMasked, newBlockId, names });
  const data = {
    ...{ inferenceId, responseId: id, status, isComplete },
    ...(isMasked ? { isMasked } : {}),
    ...(anchor === undefined ? {} : { anchor }),
    ...(echo === undefined ? {} : { echo }),
    ...(failure === undefined ? {} : { failure }),
    output: blocks.map(blockToJson),
    ...(usage === undefined ? {} : { usage: recordedUsage(usage, codec, given) }),
    ...(withheld === undefined || withheld.length === 0 ? {} : { withheld: [...withheld] }),
    ...(contentFilters.length === 0 ? {} : { contentFilters: [...contentFilters] }),
    ...separateEchoes(rest, settings),
  };
  return { data, blocks };
}

/** Where an answer came from. */
type ReceivedFrom = Pick<Decoding, "newBlockId" | "names"> & {
  readonly scope: string;
  readonly inferenceId: string;
  readonly isMasked: boolean;
};

/** The blocks of an answer, each with its origin. */
export function blocksOf(
  { blocks, isComplete, isPaused = false, keepsItems = false }: Answer,
  { scope, inferenceId, isMasked, newBlockId, names }: ReceivedFrom,
): readonly Block[] {
  // Under the ids of masked items the server holds content that the log does not have, so they are not sent by id.
  const stored = keepsItems && !isMasked;
  return blocks.map(({ kind, payload, wire }, index, { length: size }) => {
    const group = { id: inferenceId, index, size, stored };
    const paused = isPaused && index === size - 1 ? { paused: true as const } : {};
    const received = { scope, group, ...(isComplete ? {} : { partial: true as const }), ...paused };
    const block = new Block({ id: newBlockId(), kind, payload, wire: { ...received, ...wire, ...received } });
    return Block.named(block, names);
  });
}

/** The response as it was received: equal as JSON, except for the order of members. */
export function rebuildResponse(
  { data, blocks }: { readonly data: ResponseReceivedData; readonly blocks: readonly Block[] },
  settings: JsonObject,
  codec: Codec,
): JsonObject {
  const { responseId: id, echoed, ...answer } = data;
  const rest: Record<string, JsonValue> = {};
  for (const name of echoed) setMember(rest, name, settings[name] ?? null);
  for (const [name, value] of Object.entries(data.rest)) if (value !== undefined) setMember(rest, name, value);
  return codec.writeAnswer({ ...answer, id, blocks, rest });
}

/** A server's first report of a response in progress, as its event holds it; members that equal the request are stored by name. */
export function firstSaid(given: JsonObject, settings: JsonObject) {
  const kept = withLiterals(given);
  const { id: _, ...told } = isJsonObject(kept) ? kept : given;
  return separateEchoes(told, settings);
}

/** Servers echo tools and instructions, tens of kilobytes: members that equal the request are stored by name, not by value. */
function separateEchoes(told: JsonObject, settings: JsonObject) {
  const rest: Record<string, JsonValue> = {};
  const echoed: string[] = [];
  for (const [name, value] of Object.entries(told)) {
    if (value === undefined) continue;
    const sent = Object.hasOwn(settings, name) ? settings[name] : undefined;
    if (sent !== undefined && canonicalJson(sent) === canonicalJson(value)) echoed.push(name);
    else setMember(rest, name, value);
  }
  return { rest, echoed };
}
