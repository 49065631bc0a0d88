import { type JsonObject, type JsonValue, omitMembers } from "../../../base/json.ts";
import { sha256Hex } from "../../../base/sha256.ts";
import { utf8Length } from "../../../base/utf8.ts";
import type { ConversationEventOf } from "../../../domain/events/event.ts";
import { type DeclaredSettings, settingsValue, useSettings } from "../../../projections/declared-settings.ts";

/** The settings that are known after a declaration, which may name only what differs from an earlier one. */
export function declaredAfter(
  known: DeclaredSettings<JsonObject>,
  { digest, settings, base, without = [] }: ConversationEventOf<"SettingsDeclared">["data"],
  {
    members,
    ...how
  }: { readonly members: ReadonlySet<string>; readonly isErased: boolean; readonly isOutlined: boolean },
): DeclaredSettings<JsonObject> {
  const before = base === undefined ? {} : (settingsValue(known, base) ?? {});
  const inherited = omitMembers(before, new Set(without));
  const kept = Object.entries({ ...inherited, ...settings }).filter(([name]) => members.has(name));
  const outline = how.isOutlined ? outlineOf({ settings, without, base: before }, { verbatim: members, ...how }) : {};
  return useSettings(known, digest, { ...Object.fromEntries(kept), ...outline });
}

/** The settings of a request as a row keeps them: the values of some members, and digests of the others. */
export type OutlinedSettings = JsonObject;

/**
 * An outline of declared settings, so that those of two conversations can be compared: by digests, which are made again when settings are
 * erased, and the sizes of what they cover.
 */
function outlineOf(
  {
    settings,
    without,
    base,
  }: { readonly settings: JsonObject; readonly without: readonly string[]; readonly base: JsonObject },
  { verbatim, isErased }: { readonly verbatim: ReadonlySet<string>; readonly isErased: boolean },
): OutlinedSettings {
  const inherited = omitMembers(base, new Set(without.map((name) => `${mark}${name}`)));
  const own = Object.entries(settings).flatMap(([name, value]) =>
    value === undefined || verbatim.has(name) ? [] : [[`${mark}${name}`, outline(value)] as const],
  );
  const outlined = Object.entries(inherited).filter(([name]) => name.startsWith(mark));
  return { ...Object.fromEntries([...outlined, ...own]), ...(isErased ? { [mark]: "erased" } : {}) };
}

const mark = "~";

/** Sixteen hexadecimal digits of its digest, and its size. */
function outline(value: JsonValue): string {
  const text = JSON.stringify(value);
  return `${sha256Hex(text).slice(0, 16)} ${utf8Length(text)}`;
}

/** A member of outlined settings: its value, or what stands for it; null if there is none. */
export const outlined = (settings: OutlinedSettings, name: string): JsonValue =>
  settings[name] ?? settings[`${mark}${name}`] ?? null;

/** The size of a member. */
export function outlinedBytes(settings: OutlinedSettings, name: string): number {
  const text = settings[`${mark}${name}`];
  return typeof text === "string" ? Number(text.split(" ")[1] ?? 0) : 0;
}

/** Whether something of the settings was erased, so that they cannot be compared. */
export const isErasedOutline = (settings: OutlinedSettings): boolean => settings[mark] !== undefined;
