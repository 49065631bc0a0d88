import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { packageFolder, pageFolder } from "../studio/page-folder.ts";
import type { CliContext } from "./context.ts";

/** The folder of the built page. A clone has none before its first use; the package comes with it. */
export async function builtPage({ note }: Pick<CliContext, "note">): Promise<string> {
  const built = pageFolder();
  if (built !== null) return built;
  const tool = join(packageFolder(), "tools", "build-page.ts");
  if (!existsSync(tool)) throw new Error("the studio's page is missing from this package: install turnlog again");
  note("building the studio's page, once");
  const child = spawn(process.execPath, [tool], { stdio: ["ignore", "ignore", "inherit"] });
  const code = await new Promise((resolve) => child.once("exit", resolve));
  const folder = pageFolder();
  if (code !== 0 || folder === null)
    throw new Error("the studio's page could not be built: node tools/build-page.ts says why");
  return folder;
}
