import { access } from "node:fs/promises";
import { resolve } from "node:path";
import { messageOf } from "../../base/error-message.ts";
import { ContextOfRun } from "../../engine/options/context-of-run.ts";
import { type Engine, engineOf, isOwnEngine } from "../../engine/options/engine.ts";
import { providersOf } from "../../engine/options/route.ts";
import type { Codec } from "../../engine/ports/codec.ts";
import type { Codecs } from "../../engine/recorded/recorded-request.ts";
import { codecs, codecsWith } from "../../providers/codecs.ts";
import { engineNamed } from "../config/build-engine.ts";
import { isEngine, isFileName } from "../config/check-config.ts";
import type { Configuration } from "../config/configuration.ts";
import { loadModule } from "../config/load-module.ts";
import { UsageError } from "./exit-codes.ts";
import type { Settings } from "./settings.ts";

/** The configuration in which a stack's name is looked up. */
export type StackSource = Pick<Settings, "whole" | "variables">;

/**
 * Loads the engine of a stack: of an entry of the configuration, or of a user's module, which exports it as `engine` or as its default,
 * itself or as a function that returns it. If the module also exports a `context`, layers and tools receive it: a value, or what a function makes
 * for each run.
 *
 * @param path - A file if it has a dot or a slash, else a name.
 * @throws {UsageError} if the module cannot be loaded, exports no engine, or exports one of another copy of turnlog, or if its function fails.
 * @throws {ConfigError} if the configuration has no such name, or its engine cannot be made.
 */
export async function loadEngine(path: string, source: StackSource): Promise<Engine> {
  const loaded = await load(path, source);
  const engine = await engineOfModule(loaded, path);
  const about: unknown = member(loaded, "context");
  const context: unknown = isFunction(about) ? new ContextOfRun(about) : about;
  return context === undefined ? engine : engineOf({ ...engine.options, context });
}

async function engineOfModule(loaded: unknown, path: string): Promise<Engine> {
  const exported: unknown = member(loaded, "engine") ?? member(loaded, "default");
  const given: unknown = isFunction(exported) ? await madeBy(exported, path) : exported;
  if (!isMadeEngine(given))
    throw new UsageError(`${path} exports no engine: export const engine = createEngine({ … })`);
  if (isOwnEngine(given)) return given;
  throw new UsageError(
    `another copy of turnlog made the engine of ${path}: run that copy's command, with npx turnlog in its project`,
  );
}

async function madeBy(make: () => unknown, path: string): Promise<unknown> {
  try {
    return await make();
  } catch (cause) {
    throw new UsageError(`the function that makes the engine of ${path} failed: ${messageOf(cause)}`, { cause });
  }
}

/**
 * The name of the engine of a command that got no `--stack`: the configuration's `engine`, else its only engine, else its only provider; null
 * if that is not clear.
 */
export function defaultEngine(configuration: Configuration | null): string | null {
  const { engine, engines = {}, providers = {} } = configuration?.config ?? {};
  if (engine !== undefined) return engine;
  const names = Object.keys(engines).length > 0 ? Object.keys(engines) : Object.keys(providers);
  return names.length === 1 ? (names[0] ?? null) : null;
}

/**
 * Turnlog's own codecs, and those of a user's module: its engine's providers', and those that it exports as `codecs`, for requests
 * of older versions.
 *
 * @throws {UsageError} if the module cannot be loaded, or exports neither.
 */
export async function codecsOf(path: string | undefined, source: StackSource): Promise<Codecs> {
  if (path === undefined) return codecs;
  const loaded = await load(path, source);
  const listed = member(loaded, "codecs");
  if (listed !== undefined && !isCodecList(listed))
    throw new UsageError(
      `${path} exports codecs that are not a list of codecs: export const codecs = [defineCodec({ … })]`,
    );
  if (hasEngine(loaded)) {
    const providers = providersOf((await engineOfModule(loaded, path)).options);
    return codecsWith([...(listed ?? []), ...providers.map(({ codec }) => codec)]);
  }
  if (listed !== undefined) return codecsWith(listed);
  throw new UsageError(
    `${path} exports neither codecs nor an engine: export const codecs = [codec], or export const engine = createEngine({ … })`,
  );
}

/** The engine of such a module; null if it exports only codecs. */
export async function engineIn(path: string, source: StackSource): Promise<Engine | null> {
  const loaded = await load(path, source);
  return member(loaded, "codecs") !== undefined && !hasEngine(loaded) ? null : loadEngine(path, source);
}

const hasEngine = (loaded: unknown): boolean => (member(loaded, "engine") ?? member(loaded, "default")) !== undefined;

const isCodecList = (value: unknown): value is readonly Codec[] =>
  Array.isArray(value) &&
  value.every((each) => typeof member(each, "name") === "string" && isFunction(member(each, "encodeRequest")));

/** The entries that were made, so that a command makes each once. */
const madeBySource = new WeakMap<StackSource, Map<string, Promise<unknown>>>();

/** The exports of a module, or what takes their place for an entry of the configuration. */
async function load(path: string, source: StackSource): Promise<unknown> {
  if (isFileName(path)) return moduleAt(path, resolve(path));
  const made = madeBySource.get(source) ?? new Map<string, Promise<unknown>>();
  madeBySource.set(source, made);
  const known = made.get(path) ?? entryNamed(path, source);
  made.set(path, known);
  return known;
}

async function entryNamed(name: string, { whole, variables }: StackSource): Promise<unknown> {
  const configuration = await whole();
  if (configuration === null)
    throw new UsageError(
      `there is no configuration that has the engine '${name}': write turnlog.config.json, or name a file, as ./${name}.ts`,
    );
  const entry = await engineNamed(configuration, name, variables);
  return entry.type === "module" ? moduleAt(entry.path, entry.path) : { engine: entry.engine, context: entry.context };
}

async function moduleAt(shown: string, path: string): Promise<unknown> {
  await access(shown);
  try {
    return await loadModule(path);
  } catch (cause) {
    throw new UsageError(`${shown} cannot be loaded: ${messageOf(cause)}`, { cause });
  }
}

/** Whether the value is an engine, of any copy of turnlog. */
const isMadeEngine = (value: unknown): value is Engine => isEngine(value);

const isFunction = (value: unknown): value is (...given: readonly unknown[]) => unknown => typeof value === "function";

function member(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
}
