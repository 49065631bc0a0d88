import { existsSync, readdirSync } from "node:fs";
import { expect, test } from "vitest";
import { reportsTo } from "../../../src/apps/cli/regress/reports.ts";
import { conversationIdSchema } from "../../../src/domain/ids.ts";
import type { ConversationRegression } from "../../../src/replay/regression/conversation-result.ts";
import { temporaryFolder } from "../../support/stores/temporary-folder.ts";

const same: ConversationRegression = {
  ...{ conversation: conversationIdSchema.parse("cnv_a"), differs: false, requests: 1, compared: 1, changed: 0 },
  ...{ added: 0, ends: 0, chains: 0, caches: 0, reasoning: 0, unpriced: 0, unknown: {}, money: null },
  ...{ first: null, differences: [], culprits: [], message: null },
};

test("leaves no file behind if the comparison fails", async () => {
  const { path, file } = temporaryFolder();
  {
    await using reports = reportsTo({ junit: file("junit.xml"), markdown: file("text.md"), report: file("report") });
    reports.add(same);
    await expect.poll(() => readdirSync(path)).toHaveLength(3);
  }
  expect(readdirSync(path)).toEqual([]);
});

test("a file that cannot be written ends the comparison with its error, not only once all is compared", async () => {
  const { file } = temporaryFolder();
  const missing = file("missing/junit.xml");
  await using reports = reportsTo({ junit: missing });
  await expect.poll(() => isRefused(() => reports.add(same))).toBe(true);
  expect(() => reports.add(same)).toThrow(/ENOENT/);
  expect(existsSync(missing)).toBe(false);
});

function isRefused(act: () => void): boolean {
  try {
    act();
    return false;
  } catch {
    return true;
  }
}
