import { type JsonObject, objectOf, omitMembers, textOrNull } from "../../base/json.ts";
import type { Capabilities, Lesson } from "../../engine/ports/capabilities.ts";
import type { PlannedParts, Refusal, Settings } from "../../engine/ports/codec.ts";

/** Has turnlog ask for the vendor's diagnosis of the prompt cache. No body has this setting: a codec sends the vendor's member for it. */
export const diagnosticsSetting = "cacheDiagnostics";

const asksForDiagnosis = (settings: Settings): boolean => settings[diagnosticsSetting] === true;

/** The option as settings hold it: off is absent, so that it is no change of settings. */
export const withDiagnostics = (settings: Settings): Settings =>
  settings[diagnosticsSetting] === false ? omitMembers(settings, new Set([diagnosticsSetting])) : settings;

/** The capability of an endpoint that is asked: it has it until it rejects a request for that. */
export const diagnosticsOf = (settings: Settings): Pick<Capabilities, "cacheDiagnostics"> =>
  asksForDiagnosis(settings) ? { cacheDiagnostics: true } : {};

/** The earlier answer that a request asks to be compared with: null for none so far. */
export const comparedDetails = ({ settings, capabilities, newest }: PlannedParts): JsonObject =>
  asksForDiagnosis(settings) && capabilities.cacheDiagnostics === true ? { compared: newest } : {};

/** The provider's id of that answer; null for none so far, undefined if the request does not ask. */
export function comparedId(details: JsonObject | undefined): string | null | undefined {
  const compared = details?.["compared"];
  return compared === undefined ? undefined : textOrNull(objectOf(compared)["id"]);
}

/** The request that the earlier answer belongs to; null if the request asks for no comparison. */
export const comparedInference = (details: JsonObject | undefined): string | null =>
  textOrNull(objectOf(details?.["compared"])["inferenceId"]);

/**
 * The lesson of a rejection that names the vendor's member. Models differ in it, so it holds for this model only.
 *
 * @param member - The beginning of the path in the body that the rejection names.
 */
export function diagnosticsLesson(
  { kind, param, message }: Refusal,
  settings: Settings,
  member: string,
): Lesson | null {
  const isNamed = [param ?? "", message].some((text) => text.startsWith(member));
  if (kind !== "invalid-request" || !isNamed || !asksForDiagnosis(settings)) return null;
  const { model } = settings;
  return { capability: diagnosticsSetting, reason: message, ...(typeof model === "string" ? { model } : {}) };
}
