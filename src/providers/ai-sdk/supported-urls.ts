import { isJsonList, isJsonObject, type JsonObject, objectOf, objectsOf, textOrNull } from "../../base/json.ts";
import { kindOf } from "../../base/options.ts";
import { refusedPart } from "../../engine/ports/part-capabilities.ts";
import { ProviderError } from "../../engine/ports/provider-error.ts";
import { ProviderSettingsError } from "../settings/settings-error.ts";

/** The addresses that a model's server fetches itself, by media type (`image/*`), in the AI SDK's form. */
export type SupportedUrls = Readonly<Record<string, readonly RegExp[]>>;

/** The same as a capability: patterns as texts, because a decision is recorded. */
export function urlCapability(urls: SupportedUrls): JsonObject {
  return Object.fromEntries(
    Object.entries(urls).map(([mediaType, patterns]) => [mediaType, patterns.map(({ source }) => source)]),
  );
}

/** @throws {ProviderSettingsError} if they are not patterns by media type. */
export function checkSupportedUrls(given: unknown): asserts given is SupportedUrls {
  const isRight =
    typeof given === "object" &&
    given !== null &&
    Object.values(given).every((list) => Array.isArray(list) && list.every((each) => each instanceof RegExp));
  if (isRight) return;
  throw new ProviderSettingsError(
    `aiSdk: supportedUrls is ${kindOf(given)}: give patterns by media type, such as { "image/*": [/^https:/] }`,
  );
}

/**
 * Rejects a request with an address that the model's server does not fetch. Planning could not check this for a model that lists its
 * addresses only as a promise.
 *
 * @throws {ProviderError} of outcome `rejected`.
 */
export function mustFetch(bodyText: string, urls: SupportedUrls): void {
  const capabilities = { supportedUrls: urlCapability(urls) };
  const { prompt } = objectOf(JSON.parse(bodyText));
  for (const { content } of objectsOf(prompt)) {
    for (const part of partsOf(content)) {
      const { url } = objectOf(part["data"]);
      const type = textOrNull(part["mediaType"])?.startsWith("image/") === true ? "image" : "file";
      const reason = refusedPart({ type, url }, capabilities);
      if (reason !== null)
        throw new ProviderError(`${reason}, or list it in supportedUrls if its server fetches it`, {
          ...{ kind: "invalid-request", outcome: "rejected" },
        });
    }
  }
}

/** The files of a message, and of tool output. */
const partsOf = (content: unknown): readonly JsonObject[] =>
  isJsonList(content)
    ? content.filter(isJsonObject).flatMap((part) => {
        const { output } = part;
        return part["type"] === "file" ? [part] : partsOf(objectOf(output)["value"]);
      })
    : [];
