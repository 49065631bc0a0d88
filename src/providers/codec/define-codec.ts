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
import type { AnchorKind } from "../../engine/ports/anchor-kind.ts";
import type { CallPairs, Codec, GroupPlace, OfferedTool, Settings } from "../../engine/ports/codec.ts";

/** The members of a codec; those that have a default are optional. */
export type CodecDefinition = Pick<Codec, "name" | "encodeRequest" | "readAnswer" | "writeAnswer"> & Partial<Codec>;

/** Checks only that a hook is a function; its signature shows when it is called. */
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
    const name = checkText(what, given, "'my-wire/1', the name in recorded requests");
    if (/^[^/\s]+(\/[^/\s]+)+$/.test(name)) return name;
    throw new TypeError(
      `${what} is '${name}': end it with a version, such as 'my-wire/1', because turnlog rebuilds recorded requests by this name`,
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
  ...{ readAnswer: required(hook), writeAnswer: required(hook), itemsOf: hook, countsIn: hook },
});

/**
 * Makes a codec from its own members and these defaults:
 *
 * - its family is the name up to the last `/`;
 * - settings have `instructions`, a text, and `tools`, each with name, description and parameters; `encodeRequest` writes them in the form
 *   of the wire;
 * - a run can change `model` and `instructions`; `adjust` supports further settings;
 * - the result with a call's `callId` answers the call;
 * - an answer's anchor is a `response`, which can be continued any number of times;
 * - every block can be sent; reasoning, and items that only the endpoint understands, only unchanged and with their whole answer.
 *
 * @throws {TypeError} if the name has no version, `encodeRequest`, `readAnswer` or `writeAnswer` is missing, or a member is unknown.
 */
export function defineCodec(definition: CodecDefinition): Codec {
  members.check("defineCodec", definition);
  // A member that is given as undefined gets its default.
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
      `${what} is ${kindOf(given)}: give the properties of each kind, such as { thread: { isLinear: true } }`,
    );
  for (const [kind, anchor] of Object.entries(given))
    anchorMembers.check(`${what}.${kind}`, anchor, `${what}.${kind}.`);
  return anything(what, given);
}

/** Applies a run's adjustments to settings with the common names. */
const adjusting =
  (codec: string) =>
  (settings: Settings, { model, instructions, ...others }: Adjustments): Settings => {
    const unknown = Object.keys(others);
    if (unknown.length > 0)
      throw new TypeError(
        `the codec ${codec} cannot adjust ${unknown.join(", ")} for one request: give defineCodec an adjust(settings, adjustments)`,
      );
    return {
      ...settings,
      ...(model === undefined ? {} : { model }),
      ...(instructions === undefined ? {} : { instructions }),
    };
  };

/** Adds texts to instructions that are one text. */
export function instruct(settings: Settings, texts: readonly string[]): Settings {
  if (texts.length === 0) return settings;
  const own = settings["instructions"] ?? null;
  if (own !== null && typeof own !== "string")
    throw new TurnlogError(
      "instructions-hidden",
      "the instructions are a secret, so turnlog cannot add to them; append the addition as a system message, or leave it out",
    );
  return { ...settings, instructions: (own === null ? texts : [own, ...texts]).join("\n\n") };
}

/** Adds tools to those under `tools`. */
export function offer(settings: Settings, { tools }: { readonly tools: readonly OfferedTool[] }): Settings {
  return tools.length === 0 ? settings : { ...settings, tools: [...toolsIn(settings), ...tools.map(toolSetting)] };
}

const toolSetting = ({ name, description, parameters }: OfferedTool): JsonObject => ({ name, description, parameters });

/** The names of the tools under `tools`. */
export function offeredTools(settings: Settings): readonly string[] {
  return toolsIn(settings).flatMap(({ name }) => (typeof name === "string" ? [name] : []));
}

/** Like `offeredTools`, for a wire that nests a caller's functions under `function`. */
export function offeredFunctions(settings: Settings): readonly string[] {
  return toolsIn(settings).flatMap(({ name, function: wrapped }) => {
    const told = isJsonObject(wrapped) ? wrapped["name"] : name;
    return typeof told === "string" ? [told] : [];
  });
}

const toolsIn = ({ tools }: Settings): readonly JsonObject[] => objectsOf(tools);

/** The endpoint knows such an item only in its original answer, and does not know an edited one. */
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
