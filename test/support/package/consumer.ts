import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import * as z from "zod";
import { outcomeOf } from "../process.ts";

export const root = join(import.meta.dirname, "../../..");

/** What a stranger's compiler needs besides the package: Node's types. */
const typesOfNode = ["node_modules/@types/node", "node_modules/undici-types"];
/** What the package leaves to those who install it. */
const peers = ["node_modules/zod"];

const lockFileSchema = z.object({
  lockfileVersion: z.number(),
  packages: z.record(
    z.string(),
    z.looseObject({ version: z.string().optional(), dev: z.boolean().optional(), link: z.boolean().optional() }),
  ),
});
/** What stands in package.json of the rest is copied as it is. */
export const manifestSchema = z.looseObject({ name: z.string(), version: z.string() });

/**
 * Packs what was built of this checkout (`build-package.ts`), and installs the tarball in an empty folder.
 *
 * The lock file is derived from the repository's own, so that npm takes every package from the cache that `npm ci` of the
 * checkout has filled, and asks the registry for nothing but what is missing there.
 */
export async function installTarball(folder: string): Promise<void> {
  await npm(["pack", "--ignore-scripts", "--silent", "--pack-destination", folder], root);
  const manifest = manifestSchema.parse(JSON.parse(await readFile(join(root, "package.json"), "utf8")));
  const tarball = `file:${manifest.name}-${manifest.version}.tgz`;
  const lock = lockFileSchema.parse(JSON.parse(await readFile(join(root, "package-lock.json"), "utf8")));
  const own = {
    name: "consumer",
    version: "1.0.0",
    // A stranger brings the zod that schemas of tools are made with.
    dependencies: { [manifest.name]: tarball, zod: lock.packages["node_modules/zod"]?.version },
    devDependencies: { "@types/node": lock.packages["node_modules/@types/node"]?.version },
  };
  const { version, dependencies, peerDependencies, peerDependenciesMeta, bin, engines } = manifest;
  const packages = {
    "": own,
    [`node_modules/${manifest.name}`]: {
      version,
      resolved: tarball,
      dependencies,
      peerDependencies,
      peerDependenciesMeta,
      bin,
      engines,
    },
    ...Object.fromEntries(
      Object.entries(lock.packages).filter(
        ([path, { dev, link }]) =>
          // Workspaces are bundled.
          /^node_modules\//.test(path) && link !== true && (dev !== true || [...typesOfNode, ...peers].includes(path)),
      ),
    ),
  };
  await writeJson(join(folder, "package.json"), { ...own, private: true, type: "module" });
  await writeJson(join(folder, "package-lock.json"), { ...own, lockfileVersion: lock.lockfileVersion, packages });
  await npm(["ci", "--prefer-offline", "--no-audit", "--no-fund"], folder);
}

export const writeJson = (file: string, value: unknown): Promise<void> =>
  writeFile(file, JSON.stringify(value, null, 2));

async function npm(words: readonly string[], cwd: string): Promise<void> {
  const { code, stdout, stderr } = await outcomeOf("npm", words, { cwd });
  if (code !== 0) throw new Error(`npm ${words.join(" ")} ended with ${code}:\n${stdout}${stderr}`);
}
