import { checkChoice } from "../../base/options.ts";
import { createEngine, type EngineConfig } from "../../engine/options/create-engine.ts";
import type { Provider } from "../../engine/ports/provider.ts";
import { buildProvider, type Variables } from "./build-provider.ts";
import { isEngine, isProvider } from "./check-config.ts";
import type { EngineSettings, ProviderSettings } from "./config.ts";
import { ConfigError, inFile, isOfCheck } from "./config-error.ts";
import { pathIn } from "./config-paths.ts";
import type { Configuration } from "./configuration.ts";

/** The engine of a name: a module that exports it, or what such a module would export. */
export type NamedEngine =
  | { readonly type: "module"; readonly path: string }
  | { readonly type: "made"; readonly engine: unknown; readonly context: unknown };

/**
 * The engine of a name in `engines`, or one of defaults around a provider in `providers`.
 *
 * @throws {ConfigError} if the name is unknown, or its engine cannot be made.
 */
export async function engineNamed(
  configuration: Configuration,
  name: string,
  variables: Variables,
): Promise<NamedEngine> {
  const { config, files } = configuration;
  const { engines = {}, providers = {} } = config;
  const names = [...Object.keys(engines), ...Object.keys(providers)];
  const file = files.join(", ");
  if (names.length === 0) throw new ConfigError(`${file} has no engine '${name}': add it to engines`);
  inFile(file, () => checkChoice("the name of the engine", name, names));
  const entry = Object.hasOwn(engines, name) ? engines[name] : undefined;
  if (typeof entry === "string") return { type: "module", path: pathIn(configuration, entry) };
  if (typeof entry === "function" || isEngine(entry)) return { type: "made", engine: entry, context: undefined };
  // What is left is an object of settings, as the check has seen, or the name of a provider.
  const { context, ...settings } = (entry ?? { provider: name }) as EngineSettings;
  return { type: "made", engine: await engineOfSettings(configuration, name, { settings, variables }), context };
}

async function engineOfSettings(
  configuration: Configuration,
  name: string,
  { settings, variables }: { readonly settings: Omit<EngineSettings, "context">; readonly variables: Variables },
) {
  const { provider, otherProviders, ...options } = settings;
  const provided = async (given: string | Provider): Promise<Provider> =>
    typeof given === "string" ? providerNamed(configuration, given, variables) : given;
  const others: (readonly [string, Provider])[] = [];
  for (const [each, other] of Object.entries(otherProviders ?? {})) others.push([each, await provided(other)]);
  const made = await provided(provider);
  const key = `engines.${name}`;
  return atKey(configuration, key, () =>
    // createEngine checks the options itself. The context is given with each run.
    createEngine({
      ...options,
      provider: made,
      ...(otherProviders === undefined ? {} : { otherProviders: Object.fromEntries(others) }),
    } as EngineConfig),
  );
}

/**
 * The provider of a name that the configuration has.
 *
 * @throws {ConfigError} if it cannot be made.
 */
export async function providerNamed(
  configuration: Configuration,
  name: string,
  variables: Variables,
): Promise<Provider> {
  const entry = configuration.config.providers?.[name];
  const key = `providers.${name}`;
  // The check of the configuration has seen that it is one or the other.
  if (isProvider(entry)) return entry as Provider;
  return atKey(configuration, key, () => buildProvider(key, entry as ProviderSettings, variables));
}

/** Runs a check, and names the file and the key in its error. */
async function atKey<Value>(
  { fileOf }: Configuration,
  key: string,
  make: () => Value | Promise<Value>,
): Promise<Value> {
  try {
    return await make();
  } catch (cause) {
    if (!isOfCheck(cause)) throw cause;
    const message = cause.message.replace(/^createEngine: /, "");
    const where = message.startsWith(key) ? "" : `${key}: `;
    throw new ConfigError(`${fileOf(key)}: ${where}${message}`, { cause });
  }
}
