import { type JsonObject, objectOf, omitMembers } from "../../base/json.ts";
import type { Capabilities, Lesson } from "../../engine/ports/capabilities.ts";
import type { PlannedParts, Refusal, Settings } from "../../engine/ports/codec.ts";
import {
  comparedDetails,
  comparedId,
  diagnosticsLesson,
  diagnosticsOf,
  diagnosticsSetting,
} from "../caching/asked-diagnosis.ts";
import {
  type BreakpointForm,
  breakpointDetails,
  breakpointsLesson,
  breakpointsOf,
  breakpointsSetting,
} from "../caching/cache-breakpoints.ts";

/** What a request says about OpenAI's prompt cache beyond its settings. */
export function detailsOf(planned: PlannedParts): JsonObject | undefined {
  const compared = comparedDetails(planned);
  const details = { ...breakpointDetails(planned), ...(comparedId(compared) == null ? {} : compared) };
  return Object.keys(details).length === 0 ? undefined : details;
}

/** The settings as a body has them, and what else the details hold: the lane of a WebSocket. */
export function withCacheMembers(
  given: Settings,
  details: JsonObject,
): { readonly settings: Settings; readonly lane: JsonObject } {
  const isOwn = Object.keys(given).some((name) => own.has(name));
  const settings = isOwn ? omitMembers(given, own) : given;
  const lane = omitMembers(details, ofCache);
  const compared = comparedId(details);
  if (compared == null) return { settings, lane };
  // A setting of the caller keeps its place and its other members.
  const options = { ...objectOf(settings["prompt_cache_options"]), comparison_response_id: compared };
  return { settings: { ...settings, prompt_cache_options: options }, lane };
}

const own: ReadonlySet<string> = new Set([diagnosticsSetting, breakpointsSetting]);
const ofCache: ReadonlySet<string> = new Set(["compared", "breakpoints"]);

/** Options that are off are absent, so that they are no change of settings. */
export const withoutOff = (settings: Settings): Settings =>
  omitMembers(settings, new Set([...own].filter((name) => settings[name] === false)));

/** The capabilities of an endpoint that is asked for them. */
export const cacheCapabilities = (settings: Settings): Capabilities => ({
  ...diagnosticsOf(settings),
  ...breakpointsOf(settings),
});

/** The API takes no breakpoint on outputs, tools or instructions. */
export const breakpoint: BreakpointForm = {
  member: "prompt_cache_breakpoint",
  mark: { mode: "explicit" },
  parts: new Set(["input_text", "input_image", "input_file"]),
};

export const cacheLesson = (refusal: Refusal, settings: Settings): Lesson | null =>
  breakpointsLesson(refusal, settings, breakpoint.member) ??
  diagnosticsLesson(refusal, settings, "prompt_cache_options");
