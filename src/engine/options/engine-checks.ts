import { checkJson } from "../../base/frozen-json.ts";
import { isJsonList, isJsonObject } from "../../base/json.ts";
import {
  anything,
  checkChoice,
  checkFlag,
  checkFunction,
  choiceOf,
  kindOf,
  optionsOf,
  type ValueCheck,
} from "../../base/options.ts";
import { TurnlogError } from "../../base/turnlog-error.ts";
import type { Layer } from "../ports/middleware.ts";
import type { Provider } from "../ports/provider.ts";
import type { Tool } from "../ports/tool.ts";
import { type ChainPolicy, type Mode, modes, type RecordedPolicy } from "./chain-policy.ts";
import { fallbackProviders } from "./fallback.ts";

/** Rejects a provider that was passed in the place of the options. */
export function refuseProvider(config: object): void {
  if (isJsonObject(config) && typeof config["infer"] === "function")
    throw new TypeError("createEngine takes an object of options, not a provider: write createEngine({ provider })");
}

/**
 * @throws {TypeError} if there are other providers without a route, or a route without other providers, or a `fallback` has a provider that
 *   the engine does not have.
 */
export function checkRouting(provider: unknown, others: unknown, route: unknown): void {
  if (others === undefined && route === undefined) return;
  if (route === undefined)
    throw new TypeError("createEngine: otherProviders need a route: give route: (asked) => provider");
  checkFunction("createEngine: route", route);
  if (!isJsonObject(others))
    throw new TypeError(
      `createEngine: otherProviders is ${kindOf(others)}: give the providers that route may choose, such as { name: provider }`,
    );
  for (const [name, other] of Object.entries(others)) checkProvider(`createEngine: otherProviders.${name}`, other);
  const known: readonly unknown[] = [provider, ...Object.values(others)];
  const missing = typeof route === "function" ? fallbackProviders(route).find((each) => !known.includes(each)) : null;
  if (missing !== undefined && missing !== null)
    throw new TypeError(
      `createEngine: route falls back to the provider ${missing.name}, which is not one of the engine's: give it as provider or in otherProviders, wrapped in the same way`,
    );
}

/** Checks each item of a list. */
export const checkedList =
  (check: (where: string, item: unknown) => void, instead: string): ValueCheck<never> =>
  (what, given) => {
    if (!isJsonList(given)) throw new TypeError(`${what} is ${kindOf(given)}, not a list: ${instead}`);
    for (const [index, item] of given.entries()) check(`${what}[${index}]`, item);
    return anything(what, given);
  };

/** Rejects an option of the tool loop that would be ignored because the list has its own loop. */
export function refuseBesideLoop(name: string): never {
  throw new TypeError(`createEngine: ${name} has no effect beside a toolLoop in middleware: give it to the toolLoop`);
}

/** Checks that the names of layers and tools are unique, for the log and for the model. */
export function checkNames(layers: readonly Layer[], tools: readonly Tool[]): void {
  const layer = repeated(layers.map(({ name }) => name));
  if (layer !== null)
    throw new TypeError(
      `createEngine: two layers are named '${layer}': rename one, so that the log can tell them apart`,
    );
  const tool = repeated(tools.map(({ name }) => name));
  if (tool !== null)
    throw new TypeError(
      `createEngine: two tools are named '${tool}': rename one, so that the model can tell them apart`,
    );
}

const repeated = (names: readonly string[]): string | null =>
  names.find((name, index) => names.indexOf(name) !== index) ?? null;

/** @throws {TypeError} if it has no `next`. */
export function checkObserver(where: string, observer: unknown): void {
  if (typeof observer === "object" && observer !== null && "next" in observer && typeof observer.next === "function")
    return;
  throw new TypeError(
    `${where} is ${kindOf(observer)}, not an observer: give { next: (part) => … }, or an RxJS Subject`,
  );
}

const chainOptions = optionsOf<ChainPolicy>({
  ...{ require: checkFlag, onRefused: choiceOf("fallback", "throw") },
  maxAgeMs(what, given) {
    if (typeof given === "number" && Number.isFinite(given) && given >= 0) return given;
    throw new RangeError(`${what} is ${kindOf(given)}: give milliseconds`);
  },
  onSettingsChange(what, given) {
    if (!isJsonObject(given)) throw new TypeError(`${what} is ${kindOf(given)}: write { model: "full" }`);
    const said = Object.entries(given);
    return Object.fromEntries(
      said.map(([name, value]) => [name, checkChoice(`${what}.${name}`, value, ["chain", "full"])]),
    );
  },
});

/** @throws {TypeError | RangeError} if it is not a chain policy. */
export const checkChain: ValueCheck<never> = (what, chain) => {
  if (typeof chain === "string") {
    const instead = chain === "require" ? "chain: { require: true }" : `mode: "${modeMeant(chain)}"`;
    throw new TypeError(`${what} is '${chain}', not an object of options: write ${instead}`);
  }
  if (isJsonObject(chain) && "mode" in chain)
    throw new TypeError("createEngine's chain has no option 'mode': give mode beside chain");
  chainOptions.check("createEngine's chain", chain, `${what}.`);
  return anything(what, chain);
};

/** The mode that a text of another tool's vocabulary means. */
const modeMeant = (word: string): Mode =>
  modes.find((mode) => mode === word) ?? (word === "never" || word === "off" ? "stateless" : "chained");

/**
 * Rejects a mode that the caller chose explicitly and the endpoint does not support.
 *
 * @throws {TurnlogError} `mode-unsupported`, with the modes that would work.
 */
export function checkMode(
  where: string,
  mode: Mode | undefined,
  { provider, chain }: { readonly provider: Provider; readonly chain: RecordedPolicy },
): void {
  const problem = mode === undefined ? null : modeProblem(mode, provider);
  if (problem !== null) {
    const others = modes.filter((other) => other !== mode && modeProblem(other, provider) === null);
    const names = others.map((other) => `'${other}'`).join(", ");
    throw new TurnlogError(
      "mode-unsupported",
      `${where}: mode '${mode}' cannot be used: ${problem}; give one of ${names}`,
    );
  }
  if (chain.mode === "stateless" && chain.require === true)
    throw new TurnlogError(
      "mode-unsupported",
      `${where}: mode 'stateless' never chains, but chain.require requires it: leave one of them out`,
    );
  const unchained = chain.require === true && chain.mode !== "conversation" ? chainProblem(provider) : null;
  if (unchained !== null) {
    const instead = modeProblem("conversation", provider) === null ? ", or give mode 'conversation'" : "";
    throw new TurnlogError(
      "mode-unsupported",
      `${where}: chain.require can never be met: ${unchained}; leave it out${instead}`,
    );
  }
}

/** Why an endpoint does not support a mode; null if it does, as far as it is configured. */
export function modeProblem(mode: Mode, provider: Provider): string | null {
  const { name, capabilities, conversations, transport } = provider;
  if (mode === "chained") return chainProblem(provider);
  if (mode !== "conversation") return null;
  // No source documents how requests over a socket treat conversation objects.
  if (transport === "websocket") return "conversation objects do not work over the transport websocket";
  const hasObjects = conversations !== undefined && capabilities.conversations === true;
  return hasObjects ? null : `the provider ${name}, as configured, has no conversation objects`;
}

const chainProblem = ({ name, capabilities }: Provider): string | null =>
  capabilities.chain === true ? null : `the provider ${name} does not continue from earlier responses`;

/** The required members of a provider, by type. */
const providerMembers = {
  ...{ name: "string", scope: "string", codec: "object", capabilities: "object", transport: "string" },
  ...{ settings: "object", infer: "function" },
};

/** @throws {TypeError} if it is not a provider. */
export const checkProvider: ValueCheck<never> = (what, provider) => {
  const instead = "give openaiResponses({ model }), scripted([…]), or your own provider";
  if (provider === undefined) throw new TypeError(`createEngine has no provider: ${instead}`);
  if (typeof provider !== "object" || provider === null)
    throw new TypeError(`${what} is ${kindOf(provider)}: ${instead}`);
  const member = (name: string): unknown => Reflect.get(provider, name);
  const lacking = lackingOf(provider, providerMembers);
  if (lacking.length > 0) throw new TypeError(`${what} is not a provider, it lacks ${lacking.join(", ")}: ${instead}`);
  checkCodec(`${what}.codec`, member("codec"));
  const settings = member("settings");
  // Checks each setting on its own, so that the error names the one that is nested too deeply.
  if (isJsonObject(settings)) {
    for (const [name, value] of Object.entries(settings))
      checkJson(`createEngine: provider.settings.${name}`, value ?? null);
  } else checkJson("createEngine: provider.settings", settings);
  checkJson("createEngine: provider.capabilities", member("capabilities"));
  return anything(what, provider);
};

/** The required members of a codec, which `defineCodec` provides. */
const codecMembers = {
  ...{ name: "string", family: "string", encodeRequest: "function", readAnswer: "function", writeAnswer: "function" },
  ...{ instruct: "function", offer: "function", offeredTools: "function", anchors: "object", pairs: "object" },
  unsendableReason: "function",
};

function checkCodec(where: string, codec: unknown): void {
  const lacking = lackingOf(codec, codecMembers);
  if (lacking.length > 0)
    throw new TypeError(`${where} is not a codec, it lacks ${lacking.join(", ")}: make it with defineCodec`);
}

/** The required members that are missing or have another type. */
function lackingOf(given: unknown, members: Readonly<Record<string, string>>): readonly string[] {
  const member = (name: string): unknown =>
    typeof given === "object" && given !== null ? Reflect.get(given, name) : undefined;
  const isLacking = ([name, type]: readonly [string, string]): boolean =>
    member(name) === null || typeof member(name) !== type;
  return Object.entries(members)
    .filter(isLacking)
    .map(([name]) => name);
}
