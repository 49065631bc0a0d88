import { isFilledText, isJsonObject } from "../../base/json.ts";
import { optionsOf, required, textOf } from "../../base/options.ts";
import { secretReference } from "../../domain/secret-reference.ts";
import type { Provider } from "../../engine/ports/provider.ts";
import type { ProviderSettings, Variable, Wire } from "./config.ts";

type Make = (options: never) => Provider;

/** The function of each wire, loaded when one of its providers is asked. */
const makers: Readonly<Record<Wire, () => Promise<Make>>> = {
  responses: async () => (await import("../../providers/responses/openai-responses.ts")).openaiResponses,
  "azure-responses": async () => (await import("../../providers/responses/azure-responses.ts")).azureResponses,
  chat: async () => (await import("../../providers/chat/chat-completions.ts")).chatCompletions,
  "azure-chat": async () => (await import("../../providers/chat/azure-chat.ts")).azureChat,
  anthropic: async () => (await import("../../providers/anthropic/anthropic.ts")).anthropic,
  gemini: async () => (await import("../../providers/google/google-gemini.ts")).googleGemini,
  vertex: async () => (await import("../../providers/google/vertex.ts")).googleVertex,
  interactions: async () => (await import("../../providers/google/google-interactions.ts")).googleInteractions,
  ollama: async () => (await import("../../providers/ollama/ollama.ts")).ollama,
  "claude-cli": async () => (await import("../../providers/claude-cli/claude-cli.ts")).claudeCli,
};

// The object has exactly the wires as names.
export const wires = Object.keys(makers) as readonly Wire[];

export type Variables = Readonly<Record<string, string | undefined>>;

/**
 * Makes a provider from its settings.
 *
 * @param what - Its key in the configuration, for errors.
 * @throws {TypeError} for a variable that is not set, and for `queryParams` without an address.
 * @throws {ProviderSettingsError} as the function of the wire does.
 */
export async function buildProvider(what: string, settings: ProviderSettings, variables: Variables): Promise<Provider> {
  const { wire, queryParams = {}, ...options } = settings;
  const make = await makers[wire]();
  const filled = Object.fromEntries(
    Object.entries(options).map(([name, value]) => [name, optionOf(`${what}.${name}`, { name, value }, variables)]),
  );
  const address = addressWith(what, filled, {
    queryParams: filledTexts(`${what}.queryParams`, queryParams, variables),
  });
  // The function checks its options itself.
  return make({ ...filled, ...address } as never);
}

/** The members that hold one value that a variable may have, and those that hold several by name. */
const single: ReadonlySet<string> = new Set(["apiKey", "baseURL", "endpoint"]);
const named: ReadonlySet<string> = new Set(["headers", "secrets", "env"]);

function optionOf(
  what: string,
  { name, value }: { readonly name: string; readonly value: unknown },
  variables: Variables,
): unknown {
  const given = withSecrets(value);
  if (single.has(name)) return filledValue(what, given, variables);
  return named.has(name) ? filledTexts(what, given, variables) : given;
}

/** Values by name, with those of variables filled in; other things stay as they are, for the provider's own check. */
function filledTexts(what: string, values: unknown, variables: Variables): unknown {
  if (!isJsonObject(values)) return values;
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, filledValue(`${what}.${name}`, value, variables)]),
  );
}

const variableMembers = optionsOf<Variable>({ env: required(textOf("the name of an environment variable")) });

/** The value, or that of the variable that it names. */
function filledValue(what: string, value: unknown, variables: Variables): unknown {
  if (!isPlain(value)) return value;
  variableMembers.check(what, value, `${what}.`);
  // The table has checked it.
  const { env } = value as Variable;
  const found = variables[env];
  if (found === undefined || found === "") throw new TypeError(`${what}: the variable ${env} is not set: set it`);
  return found;
}

/** An object as a file writes it: not a reference to a secret, and no object of a class. */
const isPlain = (value: unknown): value is object =>
  isJsonObject(value) && [Object.prototype, null].includes(Object.getPrototypeOf(value) as object | null);

/** The value with references in place of `{"$secret": "NAME"}`, which is how JSON writes `secret("NAME")`. */
function withSecrets(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withSecrets);
  if (!isPlain(value)) return value;
  const entries = Object.entries(value);
  const [first] = entries;
  if (entries.length === 1 && first?.[0] === "$secret" && isFilledText(first[1])) return secretReference(first[1]);
  return Object.fromEntries(entries.map(([name, member]) => [name, withSecrets(member)]));
}

/** The address with these members added to its query. */
function addressWith(
  what: string,
  options: Readonly<Record<string, unknown>>,
  { queryParams }: { readonly queryParams: unknown },
): Readonly<Record<string, string>> {
  const texts = Object.entries(isJsonObject(queryParams) ? queryParams : { "": queryParams }).map(([name, value]) => {
    if (name !== "" && typeof value === "string") return [name, value] as const;
    throw new TypeError(`${what}.queryParams has a value that is not a text: give { "api-version": "preview" }`);
  });
  if (texts.length === 0) return {};
  const member = options["endpoint"] === undefined ? "baseURL" : "endpoint";
  const address = options[member];
  if (typeof address !== "string")
    throw new TypeError(`${what}.queryParams is added to the address, which ${what} leaves out: give baseURL too`);
  if (!URL.canParse(address)) return {};
  const url = new URL(address);
  for (const [name, value] of texts) url.searchParams.set(name, value);
  return { [member]: url.href };
}
