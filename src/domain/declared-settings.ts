import type { JsonObject } from "../base/json.ts";
import { utf8Length } from "../base/utf8.ts";
import type { SettingsName } from "./ids.ts";

/** The data of a `SettingsDeclared`. */
export type Declaration = {
  readonly digest: SettingsName;
  readonly settings: JsonObject;
  readonly base?: SettingsName;
  // Not readonly, because the event's schema is not.
  readonly without?: string[];
  readonly bytes?: number;
};

/** A complete declaration, on which later declarations can be based. */
export type SettingsBase = { readonly digest: SettingsName; readonly settings: JsonObject };

/**
 * A declaration as it is recorded: only the members that differ from a base, if they are less than half of it. Typically one line of
 * the instructions changes with every run, and the tools do not.
 */
export function shortDeclaration({ digest, settings }: Declaration, base: SettingsBase | null): Declaration {
  const whole = { digest, settings };
  if (base === null || base.digest === digest) return whole;
  const isSame = (name: string): boolean => JSON.stringify(base.settings[name]) === JSON.stringify(settings[name]);
  const differing = Object.entries(settings).filter(([name]) => name === "model" || !isSame(name));
  const without = Object.keys(base.settings).filter((name) => settings[name] === undefined);
  const text = JSON.stringify(settings);
  const bytes = utf8Length(text);
  const short: Declaration = {
    digest,
    settings: Object.fromEntries(differing),
    base: base.digest,
    ...(without.length === 0 ? {} : { without }),
    bytes,
  };
  // The digest is of the text, so the order of members counts.
  const isRead = JSON.stringify(wholeSettings(short, () => base.settings)) === text;
  return isRead && utf8Length(JSON.stringify(short)) < bytes / 2 ? short : whole;
}

/** All settings of a declaration; undefined if its base is missing. */
export function wholeSettings(
  { settings, base, without = [] }: Declaration,
  settingsOf: (digest: string) => JsonObject | undefined,
): JsonObject | undefined {
  if (base === undefined) return settings;
  const from = settingsOf(base);
  if (from === undefined) return undefined;
  const left = Object.entries(from).filter(([name]) => !without.includes(name));
  return { ...Object.fromEntries(left), ...settings };
}
