import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect } from "vitest";
import { temporaryFolder } from "../stores/temporary-folder.ts";
import { turnlog } from "./command.ts";

/** Runs the demo once for a file of tests; each test gets its own copy, as `turnlog.db` of a folder. */
export function useDemoStore(): () => ReturnType<typeof temporaryFolder> {
  const original = mkdtempSync(join(tmpdir(), "turnlog-"));
  beforeAll(async () => {
    const outcome = await turnlog(["demo", "-q"], { cwd: original });
    expect(outcome).toMatchObject({ code: 0, stderr: "" });
  });
  afterAll(() => {
    rmSync(original, { recursive: true, force: true });
  });
  return () => {
    const folder = temporaryFolder();
    copyFileSync(join(original, "turnlog.db"), folder.file("turnlog.db"));
    return folder;
  };
}
