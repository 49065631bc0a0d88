/**
 * Builds `dist`: one bundle with all entries of the manifest and the command, and the declarations beside it.
 *
 *     node tools/build.ts [--if-stale] [--no-declarations] [--no-check]
 *
 * `--if-stale` does nothing if `dist` was built from the current sources; `--no-check` writes declarations without checking the
 * types.
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, existsSync, globSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join, sep } from "node:path";
import { parseArgs } from "node:util";
import { type Plugin, rolldown } from "rolldown";

const root = join(import.meta.dirname, "..");

type BuildOptions = {
  readonly ifStale?: boolean;
  readonly declarations?: "none" | "unchecked" | "checked";
};

/** What is bundled: turnlog, and the workspaces that it ships. */
const shipped = ["src/**/*.ts", "packages/*/src/**/*.ts"];

/** Builds `dist` as it is published. */
export async function build({ ifStale = false, declarations = "checked" }: BuildOptions = {}): Promise<void> {
  const dist = join(root, "dist");
  const sources = digestOf(shipped);
  const built = ifStale ? stampOf(dist) : null;
  if (built?.sources !== sources) await replace(dist, { sources, hasDeclarations: false }, entries());
  else if (built.hasDeclarations || declarations === "none") return;
  if (declarations === "none") return;
  declare(dist, declarations);
  writeStamp(dist, { sources, hasDeclarations: true });
}

/**
 * Builds the command and the programs that tests start into one bundle beside `dist`: a bundled process starts in a third of the
 * time, and a program shares turnlog's modules with the command.
 */
export async function buildPrograms(): Promise<void> {
  const folder = join(root, "dist-test");
  const sources = digestOf([...shipped, "test/support/**/*.ts"]);
  if (stampOf(folder)?.sources === sources) return;
  const files = globSync("test/support/**/*-{process,stack,thread}.ts", { cwd: root });
  // In a folder of their own, like the chunks: from there the package finds the stand-in that it starts.
  const name = (file: string): string =>
    `support/${file.slice("test/support/".length, -".ts".length).replaceAll("/", "-")}`;
  const input = Object.fromEntries(files.map((file) => [name(file), file]));
  await replace(folder, { sources, hasDeclarations: false }, { ...entries(), ...input });
}

/** Builds into a temporary folder, which then replaces the other at once. */
async function replace(folder: string, stamp: Stamp, input: Entries): Promise<void> {
  const [next, last] = [`${folder}.${process.pid}.next`, `${folder}.${process.pid}.last`];
  try {
    await bundle(next, input);
    writeStamp(next, stamp);
    // The studio's page has sources of its own (tools/build-page.ts).
    if (existsSync(join(folder, "studio"))) cpSync(join(folder, "studio"), join(next, "studio"), { recursive: true });
    if (existsSync(folder)) renameSync(folder, last);
    renameSync(next, folder);
  } finally {
    for (const left of [next, last]) rmSync(left, { recursive: true, force: true });
  }
}

/** What a folder was built from; not part of the package. */
type Stamp = { readonly sources: string; readonly hasDeclarations: boolean };

const stampFile = "built.json";

function stampOf(folder: string): Stamp | null {
  const file = join(folder, stampFile);
  return existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as Stamp) : null;
}

const writeStamp = (folder: string, stamp: Stamp): void =>
  writeFileSync(join(folder, stampFile), `${JSON.stringify(stamp)}\n`);

export function digestOf(patterns: readonly string[]): string {
  const hash = createHash("sha256");
  const files = globSync([...patterns, "tools/build.ts", "package.json", "package-lock.json"], { cwd: root });
  for (const file of files.toSorted()) hash.update(`${file}\n`).update(readFileSync(join(root, file)));
  return hash.digest("hex");
}

/** External modules: packages that only some users install, and one that is loaded when a WebSocket is opened. */
const outside = /^(node:|ws$|@eventstore\/db-client|google-auth-library$|pg$)/;

/** The sources that start a program, by the names of their outputs; a source and its output have the same name. */
function entries(): Entries {
  const { exports, bin } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as Manifest;
  const files = [
    ...Object.values(bin),
    ...Object.values(exports).flatMap((to) => (typeof to === "string" ? [] : [to.default])),
  ];
  const names = files.map((file) => /dist\/(.*)\.js$/.exec(file)?.[1] ?? "");
  return { ...Object.fromEntries(names.map((name) => [name, `src/${name}.ts`])), ...programs };
}

type Entries = Readonly<Record<string, string>>;

type Manifest = {
  readonly bin: Readonly<Record<string, string>>;
  readonly exports: Readonly<Record<string, string | { readonly default: string }>>;
};

/** The processes and threads that the package starts by path. */
const programs = {
  "apps/cli/regress-thread": "src/apps/cli/regress-thread.ts",
  "claude-cli/stand-in": "packages/reference-server/src/claude-cli/stand-in.ts",
  "stores/eventstoredb/lease-thread": "src/stores/eventstoredb/lease-thread.ts",
  "stores/postgres/lease-thread": "src/stores/postgres/lease-thread.ts",
};

/**
 * Modules that are loaded together form one file, because each further file costs as much time as 10 KB of code: those that
 * `--help`, listing conversations and `import "turnlog"` need, and those that some of them share. All other modules are loaded on
 * demand.
 */
const starts = {
  help: ["src/apps/cli/program.ts"],
  list: ["src/apps/cli/commands/ls.ts", "src/stores/open-events.ts", "src/stores/sqlite/store.ts"],
  turnlog: ["src/index.ts"],
};

/** Every import of zod reaches it, but only one module uses it: it lies in the chunk of that module. */
const onDemand = "/zod/v4/classic/from-json-schema.js";

async function bundle(dir: string, input: Entries): Promise<void> {
  const bundled = new Set<string>();
  let importsOf = (_: string): readonly string[] => [];
  const graph: Plugin = {
    name: "graph",
    buildEnd() {
      importsOf = (id) => this.getModuleInfo(id)?.importedIds ?? [];
    },
  };
  let reached: readonly ReadonlySet<string>[] | undefined;
  // Every start that reaches a module reaches its imports. So the modules that more starts reach come first, and import none of the
  // rest.
  const groups = [[0, 1, 2], [0, 1], [0, 2], [1, 2], [0], [1], [2]].map((wanted, index) => ({
    name: wanted.map((start) => Object.keys(starts)[start]).join("-"),
    priority: 7 - index,
    test(id: string): boolean {
      if (id.endsWith(onDemand)) return false;
      reached ??= Object.values(starts).map((files) => closure(files, importsOf));
      return reached.every((ids, start) => ids.has(id) === wanted.includes(start));
    },
  }));
  await using made = await rolldown({
    ...{ cwd: root, input, platform: "node", external: outside, plugins: [graph] },
    // Under Node its manifest selects CommonJS, which cannot be tree-shaken.
    resolve: { alias: { rxjs: join(root, "node_modules/rxjs/dist/esm/index.js") } },
    // A module is imported dynamically for those who do not need it otherwise.
    checks: { ineffectiveDynamicImport: false },
  });
  const { output } = await made.write({
    ...{ dir, format: "esm", entryFileNames: "[name].js", codeSplitting: { groups } },
    // Node treats a file with this ending as a module without reading the manifest.
    chunkFileNames: "chunks/[name]-[hash].mjs",
    // The declarations have their own.
    comments: { legal: true, annotation: true, jsdoc: false },
  });
  for (const chunk of output) if (chunk.type === "chunk") for (const id of chunk.moduleIds) bundled.add(id);
  writeFileSync(join(dir, "LICENSES.txt"), licencesOf(bundled));
}

function closure(files: readonly string[], importsOf: (id: string) => readonly string[]): ReadonlySet<string> {
  const reached = new Set(files.map((file) => join(root, file)));
  for (const id of reached) for (const imported of importsOf(id)) reached.add(imported);
  return reached;
}

/** The licences of the packages that are part of the bundle, as those licences require. */
export function licencesOf(ids: ReadonlySet<string>): string {
  const folders = new Set([...ids].flatMap((id) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id)?.[0] ?? []));
  const texts = [...folders].toSorted().map((folder) => {
    const { name, version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Record<string, string>;
    const [licence] = globSync("{LICENSE,LICENCE,license}*", { cwd: folder });
    if (licence === undefined) throw new Error(`${name} has no licence, and cannot be bundled`);
    return `${name} ${version}\n\n${readFileSync(join(folder, licence), "utf8").trim()}\n`;
  });
  return texts.join(`\n${"-".repeat(80)}\n\n`);
}

function declare(dir: string, how: "unchecked" | "checked"): void {
  const tsc = join(root, "node_modules/typescript/bin/tsc");
  const projects = [
    ["tsconfig.build.json", dir],
    ["packages/reference-server", join(dir, "reference-server")],
  ] as const;
  for (const [config, outDir] of projects) {
    const words = [tsc, "-p", join(root, config), "--outDir", outDir, ...(how === "unchecked" ? ["--noCheck"] : [])];
    execFileSync(process.execPath, words, { stdio: "inherit" });
  }
  // Users have no package of that name: its declarations are among those of turnlog.
  for (const file of globSync("**/*.d.ts", { cwd: dir })) {
    const text = readFileSync(join(dir, file), "utf8");
    const up = "../".repeat(file.split(sep).length - 1) || "./";
    const own = text.replaceAll(/"@turnlog\/(reference-server\/[^"]+)"/g, `"${up}$1.ts"`);
    if (own !== text) writeFileSync(join(dir, file), own);
  }
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      "if-stale": { type: "boolean", default: false },
      "no-declarations": { type: "boolean", default: false },
      "no-check": { type: "boolean", default: false },
    },
  });
  const declarations = values["no-declarations"] ? "none" : values["no-check"] ? "unchecked" : "checked";
  await build({ ifStale: values["if-stale"], declarations });
}
