import { expect, test } from "vitest";
import { openStore } from "../../src/open-store.ts";
import { turnlogHere } from "../support/cli/command.ts";
import { temporaryFolder } from "../support/stores/temporary-folder.ts";

test("ls shows labels, and lists only conversations that have those which are named", async () => {
  const { path: cwd, file } = temporaryFolder();
  const store = await openStore(`sqlite:${file("turnlog.db")}`);
  for (const [id, user] of [
    ["cnv_a", "ann"],
    ["cnv_b", "bob"],
  ]) {
    const conversation = store.conversation(id);
    await conversation.append("hello");
    await conversation.relabel({ labels: { user: user ?? "" } });
  }
  await store.close();
  expect((await turnlogHere(["ls"], { cwd })).stdout).toMatch(/cnv_b.*\[user=bob\] hello\ncnv_a.*\[user=ann\] hello\n/);
  const ofAnn = await turnlogHere(["ls", "--label", "user=ann"], { cwd });
  expect(ofAnn).toMatchObject({ code: 0, stdout: expect.stringMatching(/^cnv_a.*\n$/) as string });
  const refused = await turnlogHere(["ls", "--label", "ann"], { cwd });
  expect(refused).toMatchObject({ code: 2, stdout: "" });
  expect(refused.stderr).toContain("Expected NAME=VALUE, such as user=ann.");
});
