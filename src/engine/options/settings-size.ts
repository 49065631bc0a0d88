import type { JsonObject } from "../../base/json.ts";
import { TurnlogError } from "../../base/turnlog-error.ts";
import { utf8Length } from "../../base/utf8.ts";

/** The maximum size of a request's settings as JSON, in UTF-8 bytes: the log and every fold of it hold them. */
export const maxSettingsBytes = 8 * 1024 * 1024;

/**
 * Rejects settings that are too large to store, before anything begins.
 *
 * @throws {TurnlogError} `settings-too-large`, which names the largest setting.
 */
export function checkSettings(settings: JsonObject): void {
  const bytes = bytesOf(settings);
  if (bytes <= maxSettingsBytes) return;
  const sizes = Object.entries(settings).map(([name, value]) => ({ name, bytes: bytesOf(value) }));
  const biggest = sizes.reduce((left, right) => (right.bytes > left.bytes ? right : left));
  const all = `all settings together ${bytes}, the limit is ${maxSettingsBytes}`;
  throw new TurnlogError(
    "settings-too-large",
    `the setting ${biggest.name} takes ${biggest.bytes} bytes as JSON, ${all}; make it smaller`,
  );
}

const bytesOf = (value: JsonObject[string]): number => utf8Length(JSON.stringify(value ?? null));
