import { isJsonList, type JsonObject, type JsonValue } from "../../base/json.ts";
import { sha256Hex } from "../../base/sha256.ts";
import { InstructionsHiddenError } from "../session/errors.ts";
import type { EngineOptions } from "../stack/create-engine.ts";
import type { Capabilities } from "../stack/provider.ts";
import { toolDefinitions } from "../stack/tool.ts";

/** What `include` asks for so that a full resend can carry its reasoning, whatever the server forgets. */
export const encryptedReasoning = "reasoning.encrypted_content";

/** The settings of a request: the provider's, the engine's tools, and what the Turn and layers say by the instructions. */
export function requestSettings(
  engine: EngineOptions,
  capabilities: Capabilities,
  instructions: readonly string[],
): JsonObject {
  const settings = withInstructions(engine.provider.settings, instructions);
  const tools = [...listOf(settings["tools"]), ...toolDefinitions(engine.tools)];
  const include = listOf(settings["include"]);
  const wanted = capabilities.encryptedReasoning && !include.includes(encryptedReasoning);
  const asked = wanted
    ? [...include, encryptedReasoning]
    : include.filter((each) => capabilities.encryptedReasoning || each !== encryptedReasoning);
  return {
    ...settings,
    ...(tools.length === 0 ? {} : { tools }),
    ...(asked.length === 0 ? {} : { include: asked }),
  };
}

/**
 * Settings whose instructions say these texts too.
 *
 * @throws {InstructionsHiddenError} where the instructions are no text that something could be added to.
 */
export function withInstructions(settings: JsonObject, texts: readonly string[]): JsonObject {
  if (texts.length === 0) return settings;
  const own = settings["instructions"] ?? null;
  if (own !== null && typeof own !== "string") throw new InstructionsHiddenError();
  return { ...settings, instructions: (own === null ? texts : [own, ...texts]).join("\n\n") };
}

/** The digest that a request names its settings by: of their text, in the caller's key order. */
export const settingsDigest = (settings: JsonObject): string => sha256Hex(JSON.stringify(settings));

const listOf = (value: JsonValue | undefined): readonly JsonValue[] => (isJsonList(value) ? value : []);
