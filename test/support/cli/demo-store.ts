import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, expect } from "vitest";
import { temporaryFolder } from "../stores/temporary-folder.ts";
import { turnlogHere } from "./command.ts";

/** The demo's store, made once for all the files of a worker. */
let template: Promise<string> | null = null;

/** Each test gets a copy of the demo's store of its own, as `turnlog.db` of a folder. */
export function useDemoStore(): () => ReturnType<typeof temporaryFolder> {
  let original = "";
  beforeAll(async () => {
    template ??= makeTemplate();
    original = await template;
  });
  return () => {
    const folder = temporaryFolder();
    copyFileSync(join(original, "turnlog.db"), folder.file("turnlog.db"));
    return folder;
  };
}

async function makeTemplate(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "turnlog-"));
  process.once("exit", () => {
    rmSync(folder, { recursive: true, force: true });
  });
  expect(await turnlogHere(["demo", "-q"], { cwd: folder })).toMatchObject({ code: 0, stderr: "" });
  return folder;
}
