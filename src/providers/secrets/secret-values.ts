import { isJsonList, isJsonObject, type JsonObject, type JsonValue, setMember } from "../../base/json.ts";
import { kindOf } from "../../base/options.ts";
import { SecretReference, secretReference } from "../../domain/secret-reference.ts";
import type { InferenceRequest } from "../../engine/ports/provider.ts";
import { ProviderError } from "../../engine/ports/provider-error.ts";
import type { Secrets } from "../settings/connection-options.ts";
import { ProviderSettingsError } from "../settings/settings-error.ts";
import type { Masked } from "./secret-spans.ts";

/** Shorter values occur in ordinary words, and masking those would spoil what the provider says. */
export const secretLengthMin = 8;

/** The secrets that are long enough to be masked. */
export const maskable = (secrets: Secrets): Masked =>
  Object.entries(secrets).flatMap(([name, value]) =>
    typeof value === "string" && value.length >= secretLengthMin ? [{ name, value }] : [],
  );

type Fillable = Partial<Pick<InferenceRequest, "bodyWith" | "settings">> & Pick<InferenceRequest, "bodyText">;

/**
 * The request with the values of its secrets. The codec encodes it again, with marked names in the settings that occur nowhere else in the
 * body; only the marked names are replaced. Text that looks like a secret elsewhere (in the input, or in the caller's own object) stays as
 * it is.
 *
 * @throws {ProviderError} `invalid-request` if a secret is part of a text, or the body is not what the codec made.
 */
export function filledRequest<Request extends Fillable>(request: Request, secrets: Secrets): Request {
  const { bodyText, bodyWith, settings = {} } = request;
  const names = namesIn(settings);
  if (names.size === 0) return request;
  const mark = unusedIn([bodyText, ...names, ...Object.values(secrets)].join(" "));
  const marked = bodyWith?.(replacedIn(settings, (name) => secretReference(mark + name))) ?? null;
  const bodyOf = (written: (name: string) => JsonValue): string =>
    [...names].reduce(
      (text, name) =>
        text.replaceAll(JSON.stringify(secretReference(mark + name)), () => JSON.stringify(written(name))),
      marked ?? "",
    );
  const filled = bodyOf((name) => secretValue("a setting", secretReference(name), secrets));
  const problem =
    bodyOf(secretReference) !== bodyText
      ? "the body was changed after encoding, so the places of its secrets are unknown"
      : filled.includes(mark)
        ? "a secret is part of a longer text in the body: make it the whole value of a setting"
        : null;
  if (problem !== null)
    throw new ProviderError(`${problem}; nothing was sent`, { kind: "invalid-request", outcome: "rejected" });
  return { ...request, bodyText: filled, settings: filledSettings(settings, secrets) };
}

/** Settings with the values of their secrets, for a body that consists of these settings. */
export const filledSettings = (settings: JsonObject, secrets: Secrets): JsonObject =>
  replacedIn(settings, (name) => secretValue("a setting", secretReference(name), secrets));

/** A mark that the given text does not contain. */
function unusedIn(text: string): string {
  let mark = "turnlog-secret-";
  while (text.includes(mark)) mark += "-";
  return mark;
}

function replacedIn(settings: JsonObject, replacement: (name: string) => JsonValue): JsonObject {
  const replaced = (value: JsonValue): JsonValue => {
    if (value instanceof SecretReference) return replacement(value.$secret);
    if (isJsonList(value)) return value.map(replaced);
    return isJsonObject(value) ? replacedIn(value, replacement) : value;
  };
  const members: Record<string, JsonValue> = {};
  for (const [name, value] of Object.entries(settings))
    if (value !== undefined) setMember(members, name, replaced(value));
  return members;
}

function namesIn(value: JsonValue | undefined, names = new Set<string>()): ReadonlySet<string> {
  if (value instanceof SecretReference) names.add(value.$secret);
  else if (isJsonList(value) || isJsonObject(value)) for (const each of Object.values(value)) namesIn(each, names);
  return names;
}

/**
 * The value of a secret; a text is its own value.
 *
 * @param place - Where it was given.
 * @throws {ProviderSettingsError} if the secret has no value, or `given` is neither.
 */
export function secretValue(place: string, given: unknown, secrets: Secrets): string {
  if (typeof given === "string") return given;
  if (!(given instanceof SecretReference)) {
    throw new ProviderSettingsError(`${place} is ${kindOf(given)}: give a text, or secret("NAME")`);
  }
  const { $secret: name } = given;
  const value = Object.hasOwn(secrets, name) ? secrets[name] : undefined;
  if (value !== undefined) return value;
  throw new ProviderSettingsError(
    `the secret ${name} has no value: give it in secrets, as { ${JSON.stringify(name)}: … }`,
  );
}

/**
 * Checks that secrets are long enough to be masked, that every secret in the settings has a value, and that the settings hold none of the
 * values.
 *
 * @throws {ProviderSettingsError} if one of these fails.
 */
export function checkSecrets(settings: JsonObject, secrets: Secrets): void {
  checkNamed(settings, secrets);
  const written = JSON.stringify(settings);
  for (const [name, value] of Object.entries(secrets)) {
    if (value === undefined) continue;
    checkLength(name, value);
    if (!written.includes(JSON.stringify(value).slice(1, -1))) continue;
    const text = `the settings contain the value of the secret ${name}, which would be recorded: write secret("${name}") instead`;
    throw new ProviderSettingsError(text);
  }
}

function checkLength(name: string, value: unknown): void {
  if (typeof value !== "string") {
    throw new ProviderSettingsError(`the secret ${name} is ${kindOf(value)}: give its value as a text`);
  }
  if (value.length >= secretLengthMin) return;
  const text = `the secret ${name} has ${value.length} characters: give at least ${secretLengthMin}, because turnlog cannot tell a shorter one from ordinary words in an answer`;
  throw new ProviderSettingsError(text);
}

function checkNamed(settings: JsonObject, secrets: Secrets): void {
  for (const name of namesIn(settings)) secretValue("a setting", secretReference(name), secrets);
}

/**
 * Checks that settings hold no secret if the body has them in another form, where no value could be filled in.
 *
 * @throws {ProviderSettingsError} if one does.
 */
export function refuseSecretsIn(settings: JsonObject, names: readonly string[]): void {
  for (const name of names)
    if (namesIn(settings[name]).size > 0)
      throw new ProviderSettingsError(`${name} contain a secret, which a message cannot carry: give a text without it`);
}
