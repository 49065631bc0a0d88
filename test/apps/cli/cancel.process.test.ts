import { expect, test } from "vitest";
import { openStore } from "../../../src/conversation/open-store.ts";
import { turnlog } from "../../support/cli/command-process.ts";
import { startAside } from "../../support/process.ts";
import { temporaryFolder } from "../../support/stores/temporary-folder.ts";
import { eventsOf, typesOf } from "../../support/workshop.ts";

/** A process that runs a conversation without end, in a sqlite store. */
async function runningAside() {
  const folder = temporaryFolder();
  const url = `sqlite:${folder.file("turnlog.db")}`;
  await using store = await openStore(url);
  await store.conversation("cnv_long").append("hello");
  const aside = startAside("run/closing-process.ts", [url, "cnv_long"]);
  await aside.readTo(/^began/);
  return {
    aside,
    cancel: (...words: readonly string[]) =>
      turnlog(["cancel", "cnv_long", "--store", url, ...words], { cwd: folder.path }),
    types: async () => {
      await using again = await openStore(url);
      return typesOf(await eventsOf(again.conversation("cnv_long")));
    },
  };
}

test("turnlog cancel ends a run of another process, which learns the reason", async () => {
  const { aside, cancel, types } = await runningAside();
  const cancelled = await cancel("--reason", "wrong customer", "--json");
  expect(cancelled.code).toBe(0);
  expect(JSON.parse(cancelled.stdout)).toMatchObject({ data: { conversation: "cnv_long", status: "cancelled" } });
  expect(await aside.readTo(/^run-/)).toContain("run-cancelled");
  expect((await types()).slice(-3)).toEqual(["RunCancelRequested", "InferenceFailed", "RunCancelled"]);
  const again = await cancel();
  expect(again.code).toBe(0);
  expect(again.stderr).toContain("no run of cnv_long is open");
  await aside.kill();
});

test("where its process is gone, turnlog cancel ends the run itself", async () => {
  const { aside, cancel, types } = await runningAside();
  await aside.kill();
  const cancelled = await cancel();
  expect(cancelled.code).toBe(0);
  expect(cancelled.stdout).toContain("cancelled: what it did stays");
  expect((await types()).slice(-2)).toEqual(["RunCancelRequested", "RunCancelled"]);
});
