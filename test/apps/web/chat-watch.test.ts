import { expect, test } from "vitest";
import { ChatWatch } from "../../../src/apps/web/chat-watch.ts";
import { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import { damages } from "../../support/log/damaged-copy.ts";
import { createDamagingStore } from "../../support/log/damaging-store.ts";

test("an open page of a fork shows it without a message that was skipped in its parent meanwhile", async () => {
  const { events, damage } = createDamagingStore();
  const open = (): TurnlogStore => new TurnlogStore({ ...events, close: async () => undefined });
  const parent = open().conversation("cnv_parent");
  for (const text of ["one", "two"]) await parent.append(text);
  const fork = await parent.fork(-1, { id: "cnv_fork" });
  await fork.append("three");
  const watch = new ChatWatch(open().conversation("cnv_fork"), null);
  watch.enter();
  const texts = async () => {
    await watch.upToNow();
    return watch.shown.flatMap((each) => (each.kind === "user" ? [each.block.text] : []));
  };
  expect(await texts()).toEqual(["one", "two", "three"]);
  damage("conversation-cnv_parent", 1, damages["data that is no JSON"]);
  await open().conversation("cnv_parent").skipEvent(1, "unreadable");
  expect(await texts()).toEqual(["two", "three"]);
  watch.leave();
});
