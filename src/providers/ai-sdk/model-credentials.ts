import { headerCredentials } from "../secrets/credentials.ts";
import type { Masked } from "../secrets/secret-spans.ts";

/**
 * The credentials in the headers that a model of the AI SDK sends. Packages of the SDK keep them as `config.headers`, or what gives them;
 * where a model has no such member, or it fails as it will when the model is asked, there is nothing to mask from it.
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
