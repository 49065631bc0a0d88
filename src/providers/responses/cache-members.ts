import { type JsonObject, objectOf, omitMembers } from "../../base/json.ts";
import type { PlannedParts, Settings } from "../../engine/stack/codec.ts";
import { comparedDetails, comparedId, diagnosticsSetting } from "../caching/asked-diagnosis.ts";

/** What a request says about OpenAI's prompt cache beyond its settings. */
export function detailsOf(planned: PlannedParts): JsonObject | undefined {
  const compared = comparedDetails(planned);
  return comparedId(compared) == null ? undefined : compared;
}

/** The settings as a body has them, and what else the details hold: the lane of a WebSocket. */
export function withCacheMembers(
  given: Settings,
  details: JsonObject,
): { readonly settings: Settings; readonly lane: JsonObject } {
  const settings = Object.hasOwn(given, diagnosticsSetting) ? omitMembers(given, own) : given;
  const compared = comparedId(details);
  if (compared == null) return { settings, lane: details };
  // A setting of the caller keeps its place and its other members.
  const options = { ...objectOf(settings["prompt_cache_options"]), comparison_response_id: compared };
  return { settings: { ...settings, prompt_cache_options: options }, lane: omitMembers(details, ofCache) };
}

const own: ReadonlySet<string> = new Set([diagnosticsSetting]);
const ofCache: ReadonlySet<string> = new Set(["compared"]);
