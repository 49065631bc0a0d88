import { isJsonObject, type JsonObject, objectsOf } from "../../base/json.ts";
import {
  allOf,
  anything,
  checkFunction,
  checkText,
  kindOf,
  optionsOf,
  required,
  type ValueCheck,
} from "../../base/options.ts";
import { TurnlogError } from "../../base/turnlog-error.ts";
import type { Block } from "../../domain/block.ts";
import type { Adjustments } from "../../domain/events/run-events.ts";
import type { AnchorKind, CallPairs, Codec, GroupPlace, OfferedTool, Settings } from "../../engine/stack/codec.ts";

/** What a codec has to say; the rest has defaults. */
export type CodecDefinition = Pick<Codec, "name" | "encodeRequest" | "readAnswer" | "writeAnswer"> & Partial<Codec>;

/** A hook is a function; of which kind it is shows when it is called. */
const hook: ValueCheck<never> = (what, given) => anything(what, checkFunction(what, given));

/** An object with functions of these names. */
const withFunctions =
  (...names: readonly string[]): ValueCheck<never> =>
  (what, given) => {
    for (const name of names) checkFunction(`${what}.${name}`, Reflect.get(Object(given), name));
    return anything(what, given);
  };

const members = optionsOf<CodecDefinition>({
  name: required((what, given) => {
    const name = checkText(what, given, "'my-wire/1': what recorded requests name it by");
    if (/^[^/\s]+(\/[^/\s]+)+$/.test(name)) return name;
    throw new TypeError(
      `${what} is '${name}': end it with the version of what it writes, such as 'my-wire/1', for requests are made again from the log for ever`,
    );
  }),
  family: anything,
  ...allOf(hook, "instruct", "adjust", "unstored", "offer", "offeredTools", "capable", "readsReasoning"),
  anchors,
  ...{ pairs: withFunctions("callOf", "isResult", "keyOf", "answers"), resultsStandTogether: anything },
  namesCalls: anything,
  ...allOf(hook, "callIdFor", "unsendableReason", "unsendablePart", "brokenGroupRule"),
  ...allOf(hook, "standInRule", "standsLast"),
  prompt: withFunctions("isNeeded"),
  ...{ detailsOf: hook, encodeRequest: required(hook) },
  ...allOf(hook, "restated", "lessonOf", "ownEffects", "mayPause"),
  ...{ readAnswer: required(hook), writeAnswer: required(hook), itemsOf: hook },
});

/**
 * A codec whose wire does as most do, but for what is given:
 *
 * - its family is the name up to the last `/`;
 * - settings have the instructions as a text under `instructions` and the tools under `tools`, each with name, description and
 *   parameters, for `encodeRequest` to write as the wire has them;
 * - a run can be asked with another `model` and other `instructions`, and with nothing else: the rest is for `adjust` to say;
 * - a call is answered by the result that has its `callId`;
 * - what its answers give to continue from is a `response`: continued as often as one likes, for ever;
 * - every block can be sent; reasoning, and items that only the endpoint knows, with their whole answer and as they came.
 *
 * @throws {TypeError} for a definition without a name and its version, or without one of the three functions, and for a member
 * that codecs do not have.
 */
export function defineCodec(definition: CodecDefinition): Codec {
  members.check("defineCodec", definition);
  // What is said to be undefined is as what is not said: the defaults stand.
  const given = { ...definition };
  for (const name of Object.keys(given))
    if (Reflect.get(given, name) === undefined) Reflect.deleteProperty(given, name);
  const family = definition.name.replace(/\/[^/]*$/, "");
  return { family, adjust: adjusting(definition.name), ...commonWays, ...given };
}

const anchorMembers = optionsOf<AnchorKind>({
  ...{ isLinear: anything, isObject: anything, keptMs: hook, mustEqual: hook, takes: hook },
});

function anchors(what: string, given: unknown): Codec["anchors"] {
  if (!isJsonObject(given))
    throw new TypeError(
      `${what} is ${kindOf(given)}: give what may be done with them by their kind, as { thread: { isLinear: true } }`,
    );
  for (const [kind, anchor] of Object.entries(given))
    anchorMembers.check(`${what}.${kind}`, anchor, `${what}.${kind}.`);
  return anything(what, given);
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
  unsendableReason: () => null,
} satisfies Partial<Codec>;
