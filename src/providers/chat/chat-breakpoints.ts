import { type JsonObject, omitMembers } from "../../base/json.ts";
import type { Codec, Settings } from "../../engine/ports/codec.ts";
import {
  type BreakpointForm,
  breakpointDetails,
  breakpointsLesson,
  breakpointsSetting,
  type EndedMessage,
  markedMessages,
} from "../caching/cache-breakpoints.ts";
import { breakpointsFor } from "../settings/cache-breakpoints.ts";
import { ProviderSettingsError } from "../settings/settings-error.ts";
import { type ChatDialect, type ChatDialectName, chatDialectNames, chatDialects } from "./chat-dialects.ts";

/**
 * Breakpoints on this wire. OpenAI takes them on parts of texts, images, files and audio (openai 7.57.0), those of tools' results
 * included; OpenRouter on texts (its API reference, read on 2026-11-26).
 */
const forms: Readonly<Record<NonNullable<ChatDialect["breakpoints"]>, BreakpointForm>> = {
  prompt_cache_breakpoint: {
    ...{ member: "prompt_cache_breakpoint", mark: { mode: "explicit" }, foreign: "cache_control" },
    textAs: "text",
    parts: new Set(["text", "image_url", "file", "input_audio"]),
  },
  cache_control: {
    ...{ member: "cache_control", mark: { type: "ephemeral" }, foreign: "prompt_cache_breakpoint" },
    textAs: "text",
    parts: new Set(["text"]),
  },
};

const lifetimes = {
  prompt_cache_breakpoint: breakpointsFor("30m", "12h"),
  cache_control: breakpointsFor("5m", "1h"),
} as const;

/** What a codec needs for breakpoints; nothing for a dialect whose server takes none. */
export function breakpointHooks({ breakpoints: member }: ChatDialect): Pick<Codec, "detailsOf" | "lessonOf"> {
  if (member === undefined) return {};
  return {
    detailsOf(planned) {
      const details = breakpointDetails(planned);
      return Object.keys(details).length === 0 ? undefined : details;
    },
    lessonOf: (refusal, settings) => breakpointsLesson(refusal, settings, member),
  };
}

/** The messages of a request with its recorded breakpoints. */
export const withBreakpoints = (
  sent: readonly EndedMessage[],
  { breakpoints: member }: ChatDialect,
  given: { readonly settings: Settings; readonly details: JsonObject },
): readonly JsonObject[] =>
  member === undefined ? sent.map(({ message }) => message) : markedMessages(sent, { ...given, form: forms[member] });

/** The settings without the option if it is off, so that it is no change of settings. */
export function checkedBreakpoints(where: string, name: ChatDialectName, settings: Settings): Settings {
  const asked = settings[breakpointsSetting];
  if (asked === undefined) return settings;
  if (asked === false) return omitMembers(settings, new Set([breakpointsSetting]));
  const { breakpoints: member }: ChatDialect = chatDialects[name];
  const what = `${where}: ${breakpointsSetting}`;
  if (member !== undefined) lifetimes[member](`${what} with the dialect '${name}'`, asked);
  else {
    const taken = chatDialectNames.filter((each) => "breakpoints" in chatDialects[each]).map((each) => `'${each}'`);
    throw new ProviderSettingsError(
      `${what} is set with the dialect '${name}', whose servers take no breakpoints: leave it out, or give the dialect ${taken.join(" or ")}`,
    );
  }
  return settings;
}
