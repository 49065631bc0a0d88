import { isJsonObject, type JsonObject, objectsOf } from "../../base/json.ts";
import { checkFunction, checkOptions, checkText, kindOf, type OptionNames } from "../../base/options.ts";
import { TurnlogError } from "../../base/turnlog-error.ts";
import type { Block } from "../../domain/block.ts";
import type { Adjustments } from "../../domain/events/run-events.ts";
import { toolResult } from "../../domain/make-block.ts";
import type { AnchorKind, CallPairs, Codec, GroupPlace, OfferedTool, Settings } from "../../engine/stack/codec.ts";

/** What a codec has to say; the rest has defaults. */
export type CodecDefinition = Pick<Codec, "name" | "encodeRequest" | "readAnswer" | "writeAnswer"> & Partial<Codec>;

const members: OptionNames<CodecDefinition> = {
  ...{ name: true, family: true, instruct: true, adjust: true, unstored: true, offer: true, offeredTools: true },
  ...{ capable: true, readBefore: true, readsReasoning: true, anchors: true, pairs: true, resultsStandTogether: true },
  ...{
    namesCalls: true,
    callIdFor: true,
    abortedResult: true,
    unsendableReason: true,
    unsendablePart: true,
    brokenGroupRule: true,
    standInRule: true,
    standsLast: true,
    prompt: true,
  },
  ...{
    detailsOf: true,
    encodeRequest: true,
    restated: true,
    lessonOf: true,
    ownEffects: true,
    mayPause: true,
    readAnswer: true,
    writeAnswer: true,
    itemsOf: true,
  },
};

/**
 * A codec whose wire does as most do, but for what is given:
 *
 * - its family is the name up to the last `/`;
 * - settings have the instructions as a text under `instructions` and the tools under `tools`, each with name, description and
 *   parameters, for `encodeRequest` to write as the wire has them;
 * - a run can be asked with another `model` and other `instructions`, and with nothing else: the rest is for `adjust` to say;
 * - a call is answered by the result that has its `callId`, and else by the text `aborted`;
 * - what its answers give to continue from is a `response`: continued as often as one likes, for ever;
 * - every block can be sent; reasoning, and items that only the endpoint knows, with their whole answer and as they came.
 *
 * @throws {TypeError} for a definition without a name and its version, or without one of the three functions, and for a member
 * that codecs do not have.
 */
export function defineCodec(definition: CodecDefinition): Codec {
  checkOptions("defineCodec", definition, members);
  const { name: named } = definition;
  checkText("defineCodec: name", named, "'my-wire/1': what recorded requests name it by");
  if (!/^[^/\s]+(\/[^/\s]+)+$/.test(named))
    throw new TypeError(
      `defineCodec: name is '${named}': end it with the version of what it writes, such as 'my-wire/1', for requests are made again from the log for ever`,
    );
  checkFunctions("defineCodec: ", definition, ["encodeRequest", "readAnswer", "writeAnswer"]);
  // What is said to be undefined is as what is not said: the defaults stand.
  const given = { ...definition };
  for (const name of Object.keys(given))
    if (Reflect.get(given, name) === undefined) Reflect.deleteProperty(given, name);
  checkFunctions(
    "defineCodec: ",
    given,
    Object.keys(given).filter((name) => !otherwise.has(name)),
  );
  const { pairs, prompt, anchors = {} } = given;
  if (pairs !== undefined) checkFunctions("defineCodec: pairs.", pairs, ["callOf", "isResult", "keyOf", "answers"]);
  if (prompt !== undefined) checkFunctions("defineCodec: prompt.", prompt, ["isNeeded"]);
  checkAnchors(anchors);
  const family = definition.name.replace(/\/[^/]*$/, "");
  return { family, adjust: adjusting(definition.name), ...commonWays, ...given };
}

/** What of a codec is no function. */
const otherwise: ReadonlySet<string> = new Set([
  ...["name", "family", "readBefore", "anchors", "pairs", "prompt", "resultsStandTogether", "namesCalls"],
]);

function checkFunctions(where: string, given: object, names: readonly string[]): void {
  for (const name of names) checkFunction(`${where}${name}`, Reflect.get(given, name));
}

const anchorMembers: OptionNames<AnchorKind> = {
  ...{ isLinear: true, isObject: true, keptMs: true, mustEqual: true, takes: true },
};

function checkAnchors(anchors: unknown): void {
  if (!isJsonObject(anchors))
    throw new TypeError(
      `defineCodec: anchors is ${kindOf(anchors)}: give what may be done with them by their kind, as { thread: { isLinear: true } }`,
    );
  for (const [kind, anchor] of Object.entries(anchors)) {
    const where = `defineCodec: anchors.${kind}`;
    checkOptions(where, anchor, anchorMembers);
    const functions = ["keptMs", "mustEqual", "takes"].filter((name) => Object.hasOwn(anchor, name));
    checkFunctions(`${where}.`, anchor, functions);
  }
}

/** What runs may ask otherwise of a wire whose settings are named as most are. */
const adjusting =
  (codec: string) =>
  (settings: Settings, { model, instructions, ...others }: Adjustments): Settings => {
    const unknown = Object.keys(others);
    if (unknown.length > 0)
      throw new TypeError(
        `the codec ${codec} does not say how a request is asked with another ${unknown.join(", ")}: give defineCodec an adjust(settings, adjustments)`,
      );
    return {
      ...settings,
      ...(model === undefined ? {} : { model }),
      ...(instructions === undefined ? {} : { instructions }),
    };
  };

/** Adds texts to the instructions of settings that have them as one text. */
export function instruct(settings: Settings, texts: readonly string[]): Settings {
  if (texts.length === 0) return settings;
  const own = settings["instructions"] ?? null;
  if (own !== null && typeof own !== "string")
    throw new TurnlogError(
      "instructions-hidden",
      "the instructions are a secret, so nothing can be added to them; append them as a system message, or add nothing",
    );
  return { ...settings, instructions: (own === null ? texts : [own, ...texts]).join("\n\n") };
}

/** Offers tools beside those under `tools`. */
export function offer(settings: Settings, { tools }: { readonly tools: readonly OfferedTool[] }): Settings {
  return tools.length === 0 ? settings : { ...settings, tools: [...toolsIn(settings), ...tools.map(toolSetting)] };
}

const toolSetting = ({ name, description, parameters }: OfferedTool): JsonObject => ({ name, description, parameters });

/** The names of the tools under `tools`. */
export function offeredTools(settings: Settings): readonly string[] {
  return toolsIn(settings).flatMap(({ name }) => (typeof name === "string" ? [name] : []));
}

/** The same on a wire that has the functions of callers under `function`. */
export function offeredFunctions(settings: Settings): readonly string[] {
  return toolsIn(settings).flatMap(({ name, function: wrapped }) => {
    const told = isJsonObject(wrapped) ? wrapped["name"] : name;
    return typeof told === "string" ? [told] : [];
  });
}

const toolsIn = ({ tools }: Settings): readonly JsonObject[] => objectsOf(tools);

/** What was edited is not what the endpoint knows, and it knows such an item only by the answer around it. */
export function brokenGroupRule({ kind, wire }: Block, { isBroken }: GroupPlace): string | null {
  if (kind !== "reasoning" && kind !== "other") return null;
  if (wire === null) return "edited-item";
  return isBroken ? "broken-group" : null;
}

const pairsByCallId: CallPairs = {
  callOf: ({ kind, callId, type }) =>
    kind === "tool_call" && callId !== null ? { key: callId, type, mayStayOpen: false } : null,
  isResult: ({ kind }) => kind === "tool_result",
  keyOf: ({ callId }) => callId,
  answers: ({ callId }, { key }) => callId === key,
};

const commonWays = {
  ...{ instruct, offer, offeredTools, brokenGroupRule },
  anchors: { response: {} },
  pairs: pairsByCallId,
  abortedResult: (callId: string) => toolResult({ callId, output: "aborted" }),
  unsendableReason: () => null,
} satisfies Partial<Codec>;
