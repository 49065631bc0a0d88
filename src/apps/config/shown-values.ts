import { isJsonObject, objectOf, textOrNull } from "../../base/json.ts";
import { shownAddress } from "../../base/shown-address.ts";
import { SecretReference } from "../../domain/secret-reference.ts";
import { isCredentialName } from "../../providers/secrets/credentials.ts";
import type { Variables } from "./build-provider.ts";
import { isEngine, isProvider } from "./check-config.ts";
import type { Configuration } from "./configuration.ts";

/** A value of the configuration, as it may be shown: without credentials. */
export type ShownValue = { readonly key: string; readonly value: string };

/** What takes the place of a value that may be a credential. */
const masked = "…";
const ofCode = "(code)";

/** The entries of the configuration, each value by its key. */
export function shownValues({ config }: Configuration, variables: Variables): readonly ShownValue[] {
  const { stores = {}, providers = {}, engines = {} } = config;
  return [
    ...Object.entries(stores).map(([name, address]) => ({ key: `stores.${name}`, value: shownAddress(address) })),
    ...Object.entries(providers).flatMap(([name, entry]) =>
      isProvider(entry) ? [{ key: `providers.${name}`, value: ofCode }] : shownMembers(`providers.${name}`, entry),
    ),
    ...Object.entries(engines).flatMap(([name, entry]) => {
      const key = `engines.${name}`;
      if (typeof entry === "string") return [{ key, value: entry }];
      if (typeof entry === "function" || isEngine(entry)) return [{ key, value: ofCode }];
      return Object.entries(entry).map(([member, value]) => ({
        key: `${key}.${member}`,
        value: shownOption(member, value),
      }));
    }),
  ];

  function shownMembers(key: string, entry: object): readonly ShownValue[] {
    return Object.entries(entry).flatMap(([name, value]: readonly [string, unknown]) => {
      const isMasked = masks.get(name);
      if (isMasked !== undefined && isJsonObject(value) && !isReference(value))
        return Object.entries(objectOf(value)).map(([member, each]) => ({
          key: `${key}.${name}.${member}`,
          value: shownText(each, isMasked(member)),
        }));
      if (name === "apiKey") return [{ key: `${key}.${name}`, value: shownText(value, true) }];
      if (name === "baseURL" || name === "endpoint")
        return [
          { key: `${key}.${name}`, value: typeof value === "string" ? withoutQuery(value) : shownText(value, true) },
        ];
      return [{ key: `${key}.${name}`, value: shownJson(value) }];
    });
  }

  function shownText(value: unknown, isMasked: boolean): string {
    if (value instanceof SecretReference) return `secret ${value.$secret}`;
    const { env, $secret } = objectOf(value);
    if (typeof env === "string") return `the variable ${env}${variables[env] ? "" : ", which is not set"}`;
    if (typeof $secret === "string") return `secret ${$secret}`;
    if (typeof value === "function") return ofCode;
    return isMasked ? masked : shownJson(value);
  }
}

/** An option of an engine: tools and layers by their names. A context may hold anything, a credential too. */
function shownOption(name: string, value: unknown): string {
  if (name === "context" || typeof value === "function" || isProvider(value)) return ofCode;
  if (!Array.isArray(value)) return shownJson(value);
  return value.map((item: unknown) => textOrNull(objectOf(item)["name"]) ?? ofCode).join(", ");
}

/** Whether an object is a value itself, and not values by name. */
const isReference = (value: object): boolean => "$secret" in value;

/** Options with values by name, and which of the names may have a credential. */
const masks: ReadonlyMap<string, (name: string) => boolean> = new Map<string, (name: string) => boolean>([
  ["secrets", () => true],
  ["headers", isCredentialName],
  ["env", isCredentialName],
  ["queryParams", (name) => name !== "api-version"],
]);

/** An address without what may be a credential: its user, and the values of its query. */
function withoutQuery(address: string): string {
  const shown = shownAddress(address);
  const [place = ""] = shown.split("?", 1);
  return shown === place ? place : `${place}?${masked}`;
}

function shownJson(value: unknown): string {
  if (typeof value === "string") return value;
  if (value === undefined) return "none";
  const replaced = (name: string, member: unknown): unknown => {
    if (typeof member === "function" || isProvider(member)) return ofCode;
    return typeof member === "string" && name !== "$secret" && isCredentialName(name) ? masked : member;
  };
  try {
    return JSON.stringify(value, replaced);
  } catch {
    // Tools and layers may hold anything.
    return ofCode;
  }
}
