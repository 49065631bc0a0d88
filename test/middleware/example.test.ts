import { join } from "node:path";
import { expect, test } from "vitest";
import { outputOf } from "../support/process.ts";

test("the example of a redaction runs as it stands", async () => {
  const script = join(import.meta.dirname, "../../examples/redact-emails.ts");
  const [, reads, model, request] = (await outputOf([script])).split("\n");
  expect(reads).toContain("Yes: to ada@example.com, not to bob@example.com.");
  expect(model).toContain("<email-2>");
  expect(model).not.toContain("@");
  expect(request).toContain("chained");
});
