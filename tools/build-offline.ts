import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { type Plugin, rolldown } from "rolldown";
import type { Codec } from "../src/engine/ports/codec.ts";

const root = join(import.meta.dirname, "..");
const offline = join(root, "studio/src/offline");
const handler = join(offline, "handler.ts");

/** In a page, what only writes, loads everything at once, or explains errors has a smaller module in its place. */
const replaced = new Map([
  [join(root, "src/providers/codecs.ts"), join(offline, "codecs.ts")],
  [join(root, "src/base/compile-validator.ts"), join(offline, "compile-validator.ts")],
]);

/** The codecs by wire: a page gets those that its conversations were sent with. */
const wires: Readonly<Record<string, readonly string[]>> = {
  responses: ["responses/responses-codec.ts"],
  chat: ["chat/chat-codec.ts"],
  anthropic: ["anthropic/messages-codec.ts"],
  google: ["google/gemini-codec.ts", "google/interactions-codec.ts"],
  "ai-sdk": ["ai-sdk/ai-sdk-codec.ts"],
  ollama: ["ollama/ollama-codec.ts"],
  "claude-cli": ["claude-cli/claude-cli-codec.ts"],
};

/** What modules of the handler look at when they are loaded: a page owns no run, and prints no warnings. */
const nodeProcess =
  'globalThis.process = { pid: 0, platform: "page", env: {}, uptime: () => 0, emitWarning: () => undefined };';

/**
 * Builds the studio's handler for a page: modules for a page that is served, which loads them when a bundle is dropped onto it, and the same as functions
 * for a page in one file. Returns the ids of the modules.
 */
export async function buildOffline(folder: string): Promise<readonly string[]> {
  const names = Object.keys(wires).map((wire) => [`codec-${wire}`, `wire:${wire}`] as const);
  let importsOf = (_: string): readonly string[] => [];
  const plugin: Plugin = {
    name: "offline",
    async resolveId(id, from, options) {
      if (id.startsWith("node:")) return join(offline, "node-stub.ts");
      if (id.startsWith("wire:")) return id;
      if (from === undefined) return null;
      const found = await this.resolve(id, from, { skipSelf: true, ...options });
      return replaced.get(found?.id ?? "") ?? null;
    },
    load: (id) => (id.startsWith("wire:") ? wireModule(id.slice("wire:".length)) : null),
    buildEnd() {
      importsOf = (id) => this.getModuleInfo(id)?.importedIds ?? [];
    },
  };
  let core: ReadonlySet<string> | undefined;
  const isOfWire = (id: string): boolean =>
    id.startsWith("wire:") || Object.keys(wires).some((wire) => id.startsWith(join(root, "src/providers", wire, "/")));
  const groups = [
    {
      name: "offline-core",
      test(id: string): boolean {
        core ??= closure([handler, ...names.map(([, id]) => id)], importsOf);
        return core.has(id) && !isOfWire(id);
      },
    },
  ];
  await using made = await rolldown({
    ...{ cwd: root, input: { offline: handler, ...Object.fromEntries(names) }, plugins: [plugin] },
    ...{ platform: "browser", resolve: { alias: { zod: join(offline, "schemas.ts") } } },
    checks: { ineffectiveDynamicImport: false, pluginTimings: false },
  });
  const output = {
    ...{ minify: true, entryFileNames: "[name].js", chunkFileNames: "[name].js", codeSplitting: { groups } },
    banner: ({ name }: { readonly name: string }): string => (name === "offline-core" ? nodeProcess : ""),
  };
  await made.write({ ...output, dir: folder, format: "esm" });
  const { output: chunks } = await made.write({ ...output, dir: join(folder, "inline"), format: "cjs" });
  writeFileSync(join(folder, "codecs.json"), JSON.stringify(await codecNames()));
  return chunks.flatMap((chunk) => (chunk.type === "chunk" ? chunk.moduleIds : []));
}

/** A module with the codecs of a wire. */
function wireModule(wire: string): string {
  const files = (wires[wire] ?? []).map((file) => join(root, "src/providers", file));
  const imports = files.map((file, n) => `import * as wire${n} from ${JSON.stringify(file)};`);
  const exported = files.flatMap((file, n) =>
    [...readFileSync(file, "utf8").matchAll(/^export const (\w+[cC]odecs?)\b/gm)].map(([, name]) =>
      name?.endsWith("s") ? `...Object.values(wire${n}.${name})` : `wire${n}.${name}`,
    ),
  );
  return `${imports.join("\n")}\nexport const codecs = [${exported.join(", ")}];`;
}

/** The names of the codecs in each file, as requests record them. */
async function codecNames(): Promise<Readonly<Record<string, readonly string[]>>> {
  const named: Record<string, readonly string[]> = {};
  for (const [wire, files] of Object.entries(wires)) {
    const found: string[] = [];
    for (const file of files) {
      // The file's exports are codecs, or lists of them.
      const module = (await import(pathToFileURL(join(root, "src/providers", file)).href)) as Record<string, unknown>;
      for (const value of Object.values(module)) found.push(...codecsIn(value).map(({ name }) => name));
    }
    named[`codec-${wire}.js`] = found;
  }
  return named;
}

function codecsIn(value: unknown): readonly Codec[] {
  if (typeof value !== "object" || value === null) return [];
  // What encodes requests is a codec.
  return "encodeRequest" in value ? [value as Codec] : Object.values(value).flatMap(codecsIn);
}

function closure(from: readonly string[], importsOf: (id: string) => readonly string[]): ReadonlySet<string> {
  const reached = new Set(from);
  for (const id of reached) for (const imported of importsOf(id)) reached.add(imported);
  return reached;
}
