import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

/** A folder that goes when the test has finished; call inside a test or a hook of one. */
export function temporaryFolder(): { readonly path: string; readonly file: (name: string) => string } {
  const path = mkdtempSync(join(tmpdir(), "turnlog-"));
  onTestFinished(() => {
    rmSync(path, { recursive: true, force: true });
  });
  return { path, file: (name) => join(path, name) };
}
