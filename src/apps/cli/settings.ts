import { existsSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import type { PriceOptions } from "../../analysis/costs/prices.ts";
import { meant } from "../../base/options.ts";
import { addressIn, pathIn, shownFile } from "../config/config-paths.ts";
import type { Configuration } from "../config/configuration.ts";
import { type ConfigFiles, findConfig, namedConfig } from "../config/find-config.ts";
import { UsageError } from "./exit-codes.ts";

/** The default address of the store. */
export const defaultStoreUrl = "sqlite:./turnlog.db";

/** What decided a value, in order of precedence, and its name: the option, the variable, or the file. */
type Source =
  | { readonly from: "flag" | "env" | "file"; readonly name: string }
  | { readonly from: "default"; readonly name: null };

/** The address of a store, and what decided it. */
type Given = Source & { readonly url: string };

/** The values that a command works with: of its options, else of the environment, else of the configuration, else the defaults. */
export type Settings = {
  /** The environment, for the configuration's keys. */
  readonly variables: Readonly<Record<string, string | undefined>>;
  /** The files of the configuration; null if there is none. */
  readonly files: () => ConfigFiles | null;
  /** Loads what this command needs of the configuration before it begins. */
  readonly ready: () => Promise<void>;
  /** The whole configuration, its code included: for a command that asks for an engine. */
  readonly whole: () => Promise<Configuration | null>;
  /** The address of the store, and what decided it. */
  readonly store: () => Given;
  /** The address of a name in `stores`; any other text as it is. */
  readonly addressOf: (text: string) => Promise<string>;
  /** The price file of the options, else of the configuration. */
  readonly prices: <Options extends PriceOptions>(options: Options) => Options & PriceOptions;
  /** The module that this command does not execute although it may name the store; null if there is none. */
  readonly unreadCode: () => string | null;
};

type SettingsOptions = { readonly store?: string; readonly config?: string };

type Surroundings = {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** Whether the command executes no code of the configuration by itself. */
  readonly readsOnly: boolean;
};

export function createSettings(options: SettingsOptions, { env, cwd, readsOnly }: Surroundings): Settings {
  const files = once(() => filesFor(options, { env, cwd }));
  const data = once(async () => {
    const found = files();
    return found === null || found.json === null ? null : (await reader()).readData(found, cwd);
  });
  const whole = once(async () => {
    const found = files();
    return found === null ? null : (await reader()).readWhole(found, cwd);
  });
  const given = storeGiven(options, env);
  const isNeeded = given === null || isName(given.url);
  /** What this command reads of it by itself; thrown only where something of it is asked for. */
  let read: Loaded = { configuration: null };
  const applied = (): Configuration | null => {
    if ("error" in read) throw read.error;
    return read.configuration;
  };
  const store = once(() => storeOf(given, applied));
  return {
    ...{ variables: env, files, store },
    async ready() {
      // A mistyped --config is an error even if the command needs nothing of it.
      if (options.config !== undefined) files();
      if (readsOnly || isNeeded) read = await loaded(readsOnly ? data : whole);
    },
    async whole() {
      const configuration = await whole();
      if (!readsOnly) read = { configuration };
      return configuration;
    },
    addressOf: async (text) => (isName(text) ? storeNamed(await (readsOnly ? data() : whole()), text) : text),
    prices: (asked) => (asked.prices === undefined ? { ...pricesIn(applied()), ...asked } : asked),
    unreadCode() {
      if (!readsOnly || store().from !== "default") return null;
      const code = files()?.code ?? null;
      return code !== null && /\bstores?\b/.test(readFileSync(code, "utf8")) ? shownFile(code, cwd) : null;
    },
  };
}

type Loaded = { readonly configuration: Configuration | null } | { readonly error: unknown };

async function loaded(load: () => Promise<Configuration | null>): Promise<Loaded> {
  try {
    return { configuration: await load() };
  } catch (error) {
    return { error };
  }
}

/** Loaded only where there is a configuration, because its checks know blocks and providers' secrets. */
const reader = () => import("../config/configuration.ts");

/** The default is made at the first call, and stays. */
function once<Value>(make: () => Value): () => Value {
  let made: { readonly value: Value } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

function filesFor({ config }: SettingsOptions, { env, cwd }: Pick<Surroundings, "env" | "cwd">): ConfigFiles | null {
  const named = config ?? (env["TURNLOG_CONFIG"] || undefined);
  if (named === undefined) return findConfig(cwd);
  const file = resolve(cwd, named);
  if (existsSync(file)) return namedConfig(file);
  throw new UsageError(
    `${named} does not exist: ${config === undefined ? "TURNLOG_CONFIG" : "--config"} takes the path of a configuration`,
  );
}

function storeGiven({ store }: SettingsOptions, env: Surroundings["env"]): Given | null {
  if (store !== undefined) return { url: store, from: "flag", name: "--store" };
  const variable = env["TURNLOG_STORE"];
  return variable ? { url: variable, from: "env", name: "TURNLOG_STORE" } : null;
}

function storeOf(given: Given | null, applied: () => Configuration | null): Given {
  if (given !== null) return isName(given.url) ? { ...given, url: storeNamed(applied(), given.url) } : given;
  const configuration = applied();
  const said = configuration?.config.store;
  if (configuration === null || said === undefined) return { url: defaultStoreUrl, from: "default", name: null };
  const url = isName(said) ? storeNamed(configuration, said) : addressIn(configuration, said);
  return { url, from: "file", name: configuration.fileOf("store") };
}

/** Whether a text may be a name in `stores`: an address has a colon, and a path a dot or a slash. */
const isName = (text: string): boolean => /^[\w-]+$/.test(text);

function storeNamed(configuration: Configuration | null, name: string): string {
  const stores = configuration?.config.stores ?? {};
  // The opening of the store says what an address is.
  if (configuration === null || Object.keys(stores).length === 0) return name;
  const address = Object.hasOwn(stores, name) ? stores[name] : undefined;
  if (address !== undefined) return addressIn(configuration, address);
  throw new UsageError(`${configuration.fileOf("stores")} has no store '${name}': ${meant(name, Object.keys(stores))}`);
}

function pricesIn(configuration: Configuration | null): PriceOptions {
  const prices = configuration?.config.prices;
  if (configuration === null || prices === undefined) return {};
  const { prices: file, ...rest } = typeof prices === "string" ? { prices } : prices;
  return { prices: pathIn(configuration, file), ...rest };
}
