import { frozenJson } from "../../base/frozen-json.ts";
import { isJsonObject, type JsonObject, type JsonValue, setMember } from "../../base/json.ts";
import { checkChoice, checkOptions, checkText, type OptionNames } from "../../base/options.ts";
import { sha256Hex } from "../../base/sha256.ts";
import type { Settings } from "../../engine/stack/codec.ts";
import type { AnswerLimits } from "../answer-limits.ts";
import { isCredentialName } from "../credential-names.ts";
import type { KeySource, TextOrSecret } from "../openai-options.ts";
import type { Masked } from "../secret-spans.ts";
import { type Secrets, secretLengthMin, secretValue } from "../secrets.ts";
import { ProviderSettingsError } from "../settings-error.ts";

/** How a model of Google is asked. These are recorded with the requests, and any text in them may be `secret("NAME")`. */
export type GeminiSettings = {
  readonly model: string;
  /** Sent as `systemInstruction`. System blocks at the beginning of the Turn are added to it. */
  readonly instructions?: TextOrSecret | undefined;
  /** Google's own tools, such as `{ googleSearch: {} }`, and `functionDeclarations`; the engine adds its tools to them. */
  readonly tools?: readonly JsonObject[] | undefined;
  readonly toolConfig?: JsonObject | undefined;
  readonly generationConfig?: JsonObject | undefined;
  readonly safetySettings?: readonly JsonObject[] | undefined;
  readonly labels?: JsonObject | undefined;
  readonly serviceTier?: string | undefined;
  /** Further members of the request's body. */
  readonly extraBody?: JsonObject | undefined;
};

/** Where the model is. None of this is recorded. */
export type GeminiConnection = {
  /** With the version, as `https://generativelanguage.googleapis.com/v1beta`. */
  readonly baseURL?: string | undefined;
  /** Names whose credentials they are in place of the key's own fingerprint, so that a new key is the same endpoint. */
  readonly credentialsOwner?: string | undefined;
  /** The values of those whose name ends in key, token, secret or cookie, and of `authorization`, are masked as the key is. */
  readonly headers?: Readonly<Record<string, TextOrSecret>> | undefined;
  /** `sse` (`streamGenerateContent`) when absent. */
  readonly transport?: "json" | "sse" | undefined;
  /** Values for what is `secret("NAME")`, of 8 characters or more: sent, never recorded, and masked in what the provider says. */
  readonly secrets?: Secrets | undefined;
  /** For a whole answer; ten minutes when absent. */
  readonly timeoutMs?: number | undefined;
  /** How much of an answer is taken in, and how long it may pause. */
  readonly limits?: Partial<AnswerLimits> | undefined;
  readonly fetch?: typeof globalThis.fetch | undefined;
};

/** Gives the access token of the next request; `isRefused`, where the server has refused the one it gave for it before. */
export type Credentials = KeySource;

const settingNames: OptionNames<GeminiSettings> = {
  ...{ model: true, instructions: true, tools: true, toolConfig: true, generationConfig: true },
  ...{ safetySettings: true, labels: true, serviceTier: true, extraBody: true },
};
const connectionNames: OptionNames<GeminiConnection> = {
  ...{ baseURL: true, credentialsOwner: true, headers: true, transport: true, secrets: true },
  ...{ timeoutMs: true, limits: true, fetch: true },
};

/** How the options of one of Google's wires become the settings of its requests. */
export type SettingsForm = {
  readonly names: Readonly<Record<string, true>>;
  /** What cannot be said, by its name: an option, or a member of `extraBody`. */
  readonly refusals: Readonly<Record<string, string>>;
};

/**
 * The settings of requests among a provider's options.
 *
 * @throws {TypeError} for a name that is no option.
 * @throws {ProviderSettingsError} for what is no JSON, and for a member that would put the context out of our hands.
 */
export function settingsOf(
  where: string,
  options: { readonly model: string; readonly extraBody?: JsonObject | undefined } & GeminiConnection,
  { names, refusals, own }: SettingsForm & { readonly own: Readonly<Record<string, true>> },
): Settings {
  // Options beside the declared ones are told by their names, before they are told to be none.
  const all = [...Object.keys(options), ...Object.keys(options.extraBody ?? {})];
  const refused = all.find((name) => Object.hasOwn(refusals, name) && !Object.hasOwn(names, name));
  if (refused !== undefined) throw new ProviderSettingsError(`${where}: ${refusals[refused] ?? ""}`);
  checkOptions(where, options, { ...names, ...connectionNames, ...own });
  checkText(`${where}: model`, options.model, "such as 'gemini-3-flash-preview'");
  if (options.transport !== undefined) checkChoice(`${where}: transport`, options.transport, ["json", "sse"]);
  const { extraBody = {} } = options;
  if (!isJsonObject(extraBody)) throw new ProviderSettingsError(`${where}: extraBody is no object of members`);
  const settings: Record<string, JsonValue> = {};
  const members = Object.entries(options).filter(([name]) => Object.hasOwn(names, name) && name !== "extraBody");
  for (const [name, value] of [...members, ...Object.entries(extraBody)])
    if (value !== undefined) setMember(settings, name, asJson(value, `${where}: ${name}`));
  return settings;
}

const refusals: SettingsForm["refusals"] = {
  contents: "contents is no setting: every request decides it anew",
  systemInstruction: "give systemInstruction as instructions",
  cachedContent:
    "cachedContent is not supported: it brings what turnlog does not see; Google caches repeated beginnings by itself",
};

/** Those of generateContent. */
export const geminiForm: SettingsForm = { names: settingNames, refusals };

/** The value as JSON that nobody can change, so that what is recorded is what is sent. */
function asJson(value: unknown, what: string): JsonValue {
  try {
    // Not of its type yet: that is what is found out.
    return frozenJson(value as JsonValue, what);
  } catch (cause) {
    if (!(cause instanceof TypeError)) throw cause;
    throw new ProviderSettingsError(cause.message, { cause });
  }
}

/** The address without what does not belong to it. */
export function addressOf(where: string, given: string): string {
  const url = URL.canParse(given) ? new URL(given) : null;
  if (url !== null && ["http:", "https:"].includes(url.protocol) && url.username === "" && url.search === "")
    return url.href.replace(/\/+$/, "");
  const shown = given.replace(/^.*@/s, "").replace(/\?.*$/s, "");
  throw new ProviderSettingsError(
    `${where}: baseURL ${shown} begins with https:// or http://, and has no user or query`,
  );
}

/** What a signature is good for: the address, and whose credentials they are. */
export const scopeOf = (address: string, family: string, owner: string): string =>
  `google ${address} codec=${family} owner=${owner}`;

export const fingerprint = (key: string): string => sha256Hex(key).slice(0, 12);

/** The headers of the caller, and what of them nobody may read. */
export function headersOf({ headers = {}, secrets = {} }: GeminiConnection): {
  readonly headers: Readonly<Record<string, string>>;
  readonly masked: Masked;
} {
  const values = Object.entries(headers).map(
    ([name, value]) => [name, secretValue(`headers.${name}`, value, secrets)] as const,
  );
  const named = values
    .filter(([name]) => isCredentialName(name))
    .flatMap(([name, value]) =>
      // A server repeats the one or the other of `Bearer TOKEN`.
      [value, value.slice(value.lastIndexOf(" ") + 1)].map((text) => ({ name: `headers.${name}`, value: text })),
    );
  const told = Object.entries(secrets).map(([name, value]) => ({ name, value: value ?? "" }));
  const masked = [...told, ...named].filter(({ value }) => value.length >= secretLengthMin);
  return { headers: Object.fromEntries(values), masked };
}
