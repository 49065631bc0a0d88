import { objectsOf } from "../../base/json.ts";
import type { Codec, Settings } from "../ports/codec.ts";
import type { EngineOptions } from "./engine.ts";
import { providersOf } from "./route.ts";

/**
 * The effects that a server may have besides answering a request with these settings, as a text for people; null for none. A
 * request with such effects is not retried if its outcome is unknown.
 */
export function ownEffectsOf(codec: Codec, settings: Settings): string | null {
  const own = codec.ownEffects?.(settings) ?? null;
  if (own !== null) return own;
  if (settings["background"] === true) return "it is answered in the background";
  const hosted = objectsOf(settings["tools"]).find((tool) => !isFunction(tool));
  const members = ["mcp_servers", "web_search_options", "plugins"].find((name) => settings[name] != null);
  if (hosted === undefined && members === undefined) return null;
  const { type, name } = hosted ?? { type: members };
  const what = [name, type].find((each) => typeof each === "string") ?? Object.keys(hosted ?? {}).join(", ");
  return `it offers a tool that is not a function (${what})`;
}

/** Whether only the caller can run the tool. */
function isFunction({ type, name, functionDeclarations, ...others }: Settings): boolean {
  if (type !== undefined) return type === "function" || type === "custom";
  return typeof name === "string" || (functionDeclarations !== undefined && Object.keys(others).length === 0);
}

/**
 * @throws {TypeError} if a request with an unknown outcome would be retried, and repeating it would have more effect than a double
 *   cost.
 */
export function checkUnknownOutcome(
  where: string,
  engine: Pick<EngineOptions, "retry" | "chain" | "provider" | "routing">,
): void {
  if (engine.retry.unknownOutcome === 0) return;
  if (engine.chain.mode === "conversation")
    throw new TypeError(
      `${where}: retry.unknownOutcome is given in mode 'conversation', where the object would hold the request twice: leave it out, or give another mode`,
    );
  for (const { name, codec, settings } of providersOf(engine)) {
    const effects = ownEffectsOf(codec, settings);
    if (effects !== null)
      throw new TypeError(
        `${where}: retry.unknownOutcome is given, but a request to the provider ${name} may do more than answer: ${effects}; leave one of the two out`,
      );
  }
}
