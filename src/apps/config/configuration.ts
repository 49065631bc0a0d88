import { readFileSync } from "node:fs";
import { messageOf } from "../../base/error-message.ts";
import { objectOf } from "../../base/json.ts";
import { kindOf, meant } from "../../base/options.ts";
import { checkConfig, isEngine } from "./check-config.ts";
import type { TurnlogConfig } from "./config.ts";
import { ConfigError } from "./config-error.ts";
import { shownFile } from "./config-paths.ts";
import type { ConfigFiles } from "./find-config.ts";
import { loadModule } from "./load-module.ts";

/** What the files of a configuration say, and which file said it. */
export type Configuration = {
  /** Paths in it are relative to this folder. */
  readonly folder: string;
  /** As messages show them. */
  readonly files: readonly string[];
  readonly config: TurnlogConfig;
  /** The file of a key, such as `providers.openai`. */
  readonly fileOf: (key: string) => string;
};

type Part = { readonly file: string; readonly config: TurnlogConfig };

/**
 * What the file of data says. Nothing is executed.
 *
 * @throws {ConfigError} if it is not JSON, or says something unknown.
 */
export function readData(files: ConfigFiles, from: string): Configuration | null {
  const part = dataOf(files, from);
  return part === null ? null : configurationOf(files, [part]);
}

/**
 * What the files say together: what the module says takes precedence, entry by entry.
 *
 * @throws {ConfigError} if one cannot be loaded, or says something unknown.
 */
export async function readWhole(files: ConfigFiles, from: string): Promise<Configuration> {
  const data = dataOf(files, from);
  const code = files.code === null ? null : await codeOf(files.code, shownFile(files.code, from));
  return configurationOf(
    files,
    [data, code].filter((part) => part !== null),
  );
}

function dataOf({ json }: ConfigFiles, from: string): Part | null {
  if (json === null) return null;
  const file = shownFile(json, from);
  return { file, config: checkConfig(file, jsonIn(json, file)) };
}

function jsonIn(path: string, file: string): unknown {
  const text = textOf(path, file);
  try {
    return JSON.parse(text.replace(/^\uFEFF/, ""));
  } catch (cause) {
    throw new ConfigError(`${file} is not JSON: ${messageOf(cause)}`, { cause });
  }
}

function textOf(path: string, file: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    throw new ConfigError(`${file} cannot be read: ${messageOf(cause)}`, { cause });
  }
}

async function codeOf(path: string, file: string): Promise<Part> {
  const loaded = await loadModule(path).catch((cause: unknown) => {
    throw new ConfigError(`${file} cannot be loaded: ${messageOf(cause)}`, { cause });
  });
  const exported: unknown = Reflect.get(Object(loaded), "default");
  if (exported === undefined || isEngine(exported))
    throw new ConfigError(
      `${file} exports ${exported === undefined ? "no configuration" : "an engine"} as its default: write export default defineConfig({ … })`,
    );
  if (typeof exported === "function" || exported instanceof Promise)
    throw new ConfigError(`${file} exports ${kindOf(exported)}: write export default defineConfig({ … })`);
  return { file, config: checkConfig(file, exported) };
}

const groups = ["stores", "providers", "engines"] as const;

function configurationOf({ folder }: ConfigFiles, parts: readonly Part[]): Configuration {
  const fileByKey = new Map<string, string>();
  for (const { file, config } of parts)
    for (const [name, value] of Object.entries(config)) {
      fileByKey.set(name, file);
      for (const entry of Object.keys(isGroup(name) ? objectOf(value) : {})) fileByKey.set(`${name}.${entry}`, file);
    }
  const merged = Object.assign({}, ...parts.map(({ config }) => config)) as TurnlogConfig;
  const config = {
    ...merged,
    ...Object.fromEntries(
      groups.map((group) => [group, Object.assign({}, ...parts.map((part) => part.config[group] ?? {})) as object]),
    ),
  };
  const files = parts.map(({ file }) => file);
  const fileOf = (key: string): string => fileByKey.get(key) ?? files.at(-1) ?? "the configuration";
  const configuration = { folder, files, config, fileOf };
  checkNames(configuration);
  return configuration;
}

const isGroup = (name: string): boolean => groups.some((group) => group === name);

/** Checks that every name that is used is one of an entry. */
function checkNames({ config, fileOf }: Configuration): void {
  const { store, stores = {}, providers = {}, engines = {}, engine } = config;
  const mustBe = (key: string, given: string, known: readonly string[], otherwise: string): void => {
    if (known.includes(given)) return;
    const advice = known.length === 0 ? otherwise : meant(given, known);
    throw new ConfigError(`${fileOf(key)}: ${key} is '${given}', which has no entry: ${advice}`);
  };
  if (store !== undefined && !store.includes(":"))
    mustBe("store", store, Object.keys(stores), "give an address, as sqlite:./turnlog.db");
  const names = Object.keys(providers);
  if (engine !== undefined) mustBe("engine", engine, [...Object.keys(engines), ...names], "add it to engines");
  for (const [name, entry] of Object.entries(engines)) {
    const shared = Object.hasOwn(providers, name);
    if (shared) throw new ConfigError(`${fileOf(`engines.${name}`)}: ${name} is an engine and a provider: rename one`);
    if (typeof entry !== "object" || isEngine(entry)) continue;
    const given: unknown = Reflect.get(entry, "provider");
    if (typeof given === "string") mustBe(`engines.${name}.provider`, given, names, "add it to providers");
    for (const [each, other] of Object.entries(objectOf(Reflect.get(entry, "otherProviders"))))
      if (typeof other === "string")
        mustBe(`engines.${name}.otherProviders.${each}`, other, names, "add it to providers");
  }
}
