import { existsSync } from "node:fs";
import { engineNamed, providerNamed } from "./build-engine.ts";
import type { Variables } from "./build-provider.ts";
import { isEngine } from "./check-config.ts";
import { ConfigError } from "./config-error.ts";
import { pathIn } from "./config-paths.ts";
import type { Configuration } from "./configuration.ts";

/** Makes every provider and every engine that consists of settings, and lists what is wrong with them. Executes no module of an engine. */
export async function entryProblems(configuration: Configuration, variables: Variables): Promise<readonly string[]> {
  const { config, fileOf } = configuration;
  const problems: string[] = [];
  const attempt = async (make: () => Promise<unknown>): Promise<void> => {
    try {
      await make();
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      // The problem of a provider is also that of its engines.
      if (!problems.includes(error.message)) problems.push(error.message);
    }
  };
  for (const name of Object.keys(config.providers ?? {}))
    await attempt(() => providerNamed(configuration, name, variables));
  for (const [name, entry] of Object.entries(config.engines ?? {})) {
    const key = `engines.${name}`;
    if (typeof entry === "string") {
      if (!existsSync(pathIn(configuration, entry))) problems.push(`${fileOf(key)}: ${key}: there is no file ${entry}`);
    } else if (typeof entry !== "function" && !isEngine(entry))
      await attempt(() => engineNamed(configuration, name, variables));
  }
  return problems;
}
