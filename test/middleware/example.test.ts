import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";

test("the example of a redaction runs as it stands", async () => {
  const script = join(import.meta.dirname, "../../examples/redact-emails.ts");
  const { stdout } = await promisify(execFile)(process.execPath, [script]);
  const [, reads, model, request] = stdout.split("\n");
  expect(reads).toContain("Yes: to ada@example.com, not to bob@example.com.");
  expect(model).toContain("<email-2>");
  expect(model).not.toContain("@");
  expect(request).toContain("chained");
});
