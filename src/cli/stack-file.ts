import { access } from "node:fs/promises";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { Codecs } from "../engine/planning/recorded-request.ts";
import type { Codec } from "../engine/stack/codec.ts";
import { type Engine, engineOf, isOwnEngine } from "../engine/stack/engine.ts";
import { providersOf } from "../engine/stack/route.ts";
import type { ContextOf } from "../lab/compare-conversation.ts";
import { codecs, codecsWith } from "../providers/codecs.ts";
import { UsageError } from "./exit-codes.ts";

/**
 * Loads the engine that a user's module exports as `engine` or as its default: the engine itself, or a function that returns it. If
 * the module also exports a `context` (a value or a function), layers and tools receive it.
 *
 * @throws {UsageError} if the module cannot be loaded, exports no engine, or exports one of another copy of turnlog.
 */
export async function loadEngine(path: string): Promise<Engine> {
  const loaded = await load(path);
  const engine = await engineOfModule(loaded, path);
  const about: unknown = member(loaded, "context");
  const context: unknown = isFunction(about) ? await about() : about;
  return context === undefined ? engine : engineOf({ ...engine.options, context });
}

async function engineOfModule(loaded: unknown, path: string): Promise<Engine> {
  const exported: unknown = member(loaded, "engine") ?? member(loaded, "default");
  const given: unknown = isFunction(exported) ? await exported() : exported;
  if (!isEngine(given)) throw new UsageError(`${path} exports no engine: export const engine = createEngine({ … })`);
  if (isOwnEngine(given)) return given;
  throw new UsageError(
    `another copy of turnlog made the engine of ${path}: run that copy's command, with npx turnlog in its project`,
  );
}

/** A module's engine, without its context; its codecs; and what makes the context of a run, or null. */
type LoadedStack = { readonly engine: Engine; readonly codecs: Codecs; readonly contextOf: ContextOf | null };

/**
 * Loads a module whose `context` may be a function of the run: `{ conversation, labels, runId }`.
 *
 * @throws {UsageError} as `loadEngine` does.
 */
export async function loadStack(path: string): Promise<LoadedStack> {
  const engine = await engineOfModule(await load(path), path);
  const about: unknown = member(await load(path), "context");
  const contextOf: ContextOf | null = about === undefined ? null : isFunction(about) ? about : () => about;
  return { engine, codecs: await codecsOf(path), contextOf };
}

/**
 * Turnlog's own codecs, and those of a user's module: its engine's providers', and those that it exports as `codecs`, for requests
 * of older versions.
 *
 * @throws {UsageError} if the module cannot be loaded, or exports neither.
 */
export async function codecsOf(path: string | undefined): Promise<Codecs> {
  if (path === undefined) return codecs;
  const loaded = await load(path);
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
export async function engineIn(path: string): Promise<Engine | null> {
  const loaded = await load(path);
  return member(loaded, "codecs") !== undefined && !hasEngine(loaded) ? null : loadEngine(path);
}

const hasEngine = (loaded: unknown): boolean => (member(loaded, "engine") ?? member(loaded, "default")) !== undefined;

const isCodecList = (value: unknown): value is readonly Codec[] =>
  Array.isArray(value) &&
  value.every((each) => typeof member(each, "name") === "string" && isFunction(member(each, "encodeRequest")));

async function load(path: string): Promise<unknown> {
  await access(path);
  try {
    const loaded: unknown = await import(pathToFileURL(resolve(path)).href);
    return loaded;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new UsageError(`${path} cannot be loaded: ${reason}`, { cause: error });
  }
}

/** Whether the value is an engine, of any copy of turnlog. */
function isEngine(value: unknown): value is Engine {
  const options = member(value, "options");
  return member(options, "provider") !== undefined && Array.isArray(member(options, "layers"));
}

const isFunction = (value: unknown): value is (...given: readonly unknown[]) => unknown => typeof value === "function";

function member(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
}
