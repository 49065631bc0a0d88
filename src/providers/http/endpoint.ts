import { sha256Hex } from "../../base/sha256.ts";
import { filledHeaders, headerCredentials, longEnough, queryCredentials } from "../secrets/credentials.ts";
import type { Masked } from "../secrets/secret-spans.ts";
import { maskable, secretValue } from "../secrets/secret-values.ts";
import { type AnswerLimits, answerLimits } from "../settings/answer-limits.ts";
import type { ConnectionOptions } from "../settings/connection-options.ts";
import { ProviderSettingsError } from "../settings/settings-error.ts";
import { maskedBeside, type RequestKeys, requestKeys } from "./request-keys.ts";

/** The address of requests, and their credentials. */
export type Endpoint = {
  readonly apiKey: string;
  /** Returns a key for each request; `apiKey` is empty then. */
  readonly keys: RequestKeys | null;
  readonly baseURL: string;
  readonly organization: string | null;
  readonly project: string | null;
  /** Null removes a header that requests would have by default. */
  readonly headers: Readonly<Record<string, string | null>>;
  readonly timeoutMs: number;
  readonly limits: AnswerLimits;
  readonly fetch: typeof globalThis.fetch;
};

/** The address of a path below the base URL, with the base URL's query. */
export function addressAt({ baseURL }: Pick<Endpoint, "baseURL">, path: string): string {
  const url = new URL(baseURL);
  const [pathname, query = ""] = path.split("?", 2);
  url.pathname = `${url.pathname.replace(/\/+$/, "")}${pathname}`;
  url.search = [url.search.slice(1), query].filter((part) => part !== "").join("&");
  url.hash = "";
  return url.href;
}

/** The credentials and the caller's headers; these come last and win, whatever the case of their names. */
export function headersAt({ organization, project, headers: given }: Endpoint, key: string): Record<string, string> {
  const headers = new Map<string, string | null>([
    ["authorization", `Bearer ${key}`],
    ["openai-organization", organization],
    ["openai-project", project],
  ]);
  for (const [name, value] of Object.entries(given)) headers.set(name.toLowerCase(), value);
  return Object.fromEntries([...headers].flatMap(([name, value]) => (value === null ? [] : [[name, value]])));
}

/** The header that an endpoint expects its key in: `Authorization: Bearer KEY`, or Azure's own. */
export type KeyHeader = "authorization" | "api-key";

/** The default address of a kind of server, and the environment variables that replace it. */
export type ServerPlace = {
  readonly baseURL: string;
  /** The variables for an absent `apiKey` and `baseURL`. */
  readonly keyVariable: string;
  readonly addressVariable: string | null;
  /** The variables for an absent `organization` and `project`, which other servers do not know. */
  readonly variables?: { readonly organization: string; readonly project: string };
  /** Local servers need no key. */
  readonly needsKey: boolean;
};

export const openaiPlace: ServerPlace = {
  baseURL: "https://api.openai.com/v1",
  ...{ keyVariable: "OPENAI_API_KEY", addressVariable: "OPENAI_BASE_URL", needsKey: true },
  variables: { organization: "OPENAI_ORG_ID", project: "OPENAI_PROJECT_ID" },
};

/** The options that say where a server is, and with which credentials it is called. */
type PlaceOptions = Omit<ConnectionOptions, "capabilities" | "systemAs" | "transport" | "extraBody">;

/**
 * The address and the credentials of requests. It reads the variables that the official clients read.
 *
 * @throws {ProviderSettingsError} if there is no API key, or no valid base URL.
 */
export function endpointOf(options: PlaceOptions, keyHeader: KeyHeader, place: ServerPlace = openaiPlace): Endpoint {
  const { secrets = {}, apiKey: given = process.env[place.keyVariable] ?? "" } = options;
  const isAsked = typeof given === "function";
  if (isAsked && options.credentialsOwner === undefined) {
    const text =
      "apiKey is a function, so keys change: give credentialsOwner, so that chains continue with the next key";
    throw new ProviderSettingsError(text);
  }
  const apiKey = isAsked ? "none" : secretValue("apiKey", given, secrets);
  const isOpen = apiKey === "" && !place.needsKey;
  if (apiKey === "" && !isOpen)
    throw new ProviderSettingsError(`there is no API key: set ${place.keyVariable}, or give apiKey`);
  const { address, basic } = addressOf(options, place);
  const { organization, project } = place.variables ?? {};
  return {
    apiKey: isOpen ? "none" : apiKey,
    keys: isAsked ? requestKeys(given) : null,
    baseURL: address,
    organization: options.organization ?? ((organization && process.env[organization]) || null),
    project: options.project ?? ((project && process.env[project]) || null),
    headers: {
      ...(isOpen ? { Authorization: null } : {}),
      ...(keyHeader === "api-key" ? { "api-key": apiKey, Authorization: null } : {}),
      ...(basic === null ? {} : { authorization: `Basic ${basic.token}` }),
      ...filledHeaders(options.headers ?? {}, secrets),
    },
    timeoutMs: options.timeoutMs ?? 600_000,
    limits: answerLimits(options.limits),
    // Looked up at each request, so that a replaced global is used.
    fetch: options.fetch ?? ((address, init) => globalThis.fetch(address, init)),
  };
}

/** The scope in which response ids and ciphertexts are valid (rule: Contexts and anchors). Without the address's query, which may hold a key. */
export function scopeOf(
  { baseURL, organization, project, apiKey }: Endpoint,
  family: string,
  owner: string | undefined,
): string {
  const { origin, pathname } = new URL(baseURL);
  const parts = [
    `${family} ${origin}${pathname.replace(/\/+$/, "")}`,
    `organization=${organization ?? ""}`,
    `project=${project ?? ""}`,
    `codec=${family}`,
    `owner=${owner ?? sha256Hex(apiKey).slice(0, 12)}`,
  ];
  return parts.join(" ");
}

/** All values in requests that have to be masked in what the provider says, with the name to show. */
export function credentialsOf(
  options: PlaceOptions,
  { apiKey, keys }: Endpoint,
  place: ServerPlace = openaiPlace,
): () => Masked {
  const { secrets = {}, headers = {} } = options;
  const { address, basic } = addressOf(options, place);
  const lasting = [
    ...maskable({ ...secrets, ...(keys === null ? { apiKey } : {}) }),
    ...headerCredentials(headers, secrets),
    ...longEnough([basic?.password, basic?.token].map((value = "") => ({ name: "baseURL", value }))),
    ...queryCredentials(address),
  ];
  return maskedBeside(keys, lasting);
}

type Address = {
  /** Without user and password: `fetch` rejects addresses that have them. */
  readonly address: string;
  readonly basic: { readonly password: string; readonly token: string } | null;
};

function addressOf({ baseURL }: PlaceOptions, place: ServerPlace): Address {
  const variable = place.addressVariable === null ? "" : process.env[place.addressVariable];
  const given = baseURL ?? (variable || place.baseURL);
  const url = URL.canParse(given) ? new URL(given) : null;
  if (url === null || !["http:", "https:"].includes(url.protocol)) {
    // Shows neither user nor query: both may hold a credential.
    const shown = given.replace(/^.*@/s, "").replace(/\?.*$/s, "");
    throw new ProviderSettingsError(`the base URL is not a URL: ${shown}; it must begin with https:// or http://`);
  }
  const [user, password] = [url.username, url.password].map(decoded);
  if (!user && !password) return { address: given, basic: null };
  const token = Buffer.from(`${user}:${password}`).toString("base64");
  url.username = "";
  url.password = "";
  return { address: url.href, basic: { password: password ?? "", token } };
}

/** The text as the server will read it; an invalid escape stays as it is. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
