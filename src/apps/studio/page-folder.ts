import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The folder of this package: of the sources and of the bundle alike. */
export function packageFolder(): string {
  for (let folder = dirname(fileURLToPath(import.meta.url)); ; folder = dirname(folder)) {
    if (isTurnlog(join(folder, "package.json"))) return folder;
    if (dirname(folder) === folder) throw new Error("turnlog's own package.json cannot be found");
  }
}

function isTurnlog(file: string): boolean {
  if (!existsSync(file)) return false;
  const manifest: unknown = JSON.parse(readFileSync(file, "utf8"));
  return typeof manifest === "object" && manifest !== null && "name" in manifest && manifest.name === "turnlog";
}

/** The folder of the built page; null if it was not built. */
export function pageFolder(): string | null {
  const folder = join(packageFolder(), "dist", "studio");
  return existsSync(join(folder, "index.html")) ? folder : null;
}
