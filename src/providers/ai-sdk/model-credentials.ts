import { headerCredentials } from "../secrets/credentials.ts";
import type { Masked } from "../secrets/secret-spans.ts";

/**
 * The credentials in the headers that a model of the AI SDK sends. Packages of the SDK keep the headers as `config.headers`, or a function
 * that returns them. If a model has no such member, or the function fails as it will fail when the model is called, there is nothing to
 * mask.
 */
export async function modelCredentials(model: object): Promise<Masked> {
  try {
    const config: unknown = Reflect.get(model, "config");
    if (typeof config !== "object" || config === null) return [];
    const given: unknown = Reflect.get(config, "headers");
    const headers: unknown = await (typeof given === "function" ? Reflect.apply(given, config, []) : given);
    if (typeof headers !== "object" || headers === null) return [];
    const texts = Object.entries(headers).filter((entry): entry is [string, string] => typeof entry[1] === "string");
    return headerCredentials(Object.fromEntries(texts));
  } catch {
    return [];
  }
}
