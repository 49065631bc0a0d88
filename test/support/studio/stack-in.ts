import { codecsOf, loadEngine } from "../../../src/apps/cli/stack-file.ts";
import type { NamedStack } from "../../../src/apps/studio/what-if.ts";

/** The stack of a module, as the command loads it where there is no configuration. */
export async function stackIn(file: string): Promise<NamedStack> {
  const source = { whole: async () => null, variables: {} };
  return { file, engine: await loadEngine(file, source), codecs: await codecsOf(file, source) };
}
