import { once } from "node:events";
import { readdirSync } from "node:fs";
import { expect, test } from "vitest";
import { openStore } from "../../src/conversation/open-store.ts";
import { createEngine } from "../../src/engine/options/create-engine.ts";
import { scripted } from "../../src/providers/scripted/scripted.ts";
import { startAside } from "../support/process.ts";
import { temporaryFolder } from "../support/stores/temporary-folder.ts";
import { eventsOf, rejectionOf, typesOf } from "../support/workshop.ts";

test("a process that receives a signal to end parks its run, and the next process continues it at once", async () => {
  const folder = temporaryFolder();
  const url = `sqlite:${folder.file("store.db")}`;
  await using store = await openStore(url);
  const conversation = store.conversation("cnv_deploy");
  await conversation.append("hello");
  const engine = createEngine({ provider: scripted(["an answer"]) });
  const { child, readTo } = startAside("run/closing-process.ts", [url, conversation.id]);
  await readTo(/^began/);
  expect(await rejectionOf(conversation.run(engine))).toMatchObject({ code: "run-in-progress" });
  const ended = once(child, "exit");
  child.kill("SIGTERM");
  expect((await readTo(/^closed/)).toSorted()).toEqual(["closed", "run-parked"]);
  expect(await ended).toEqual([0, null]);
  expect(typesOf(await eventsOf(conversation)).at(-1)).toBe("RunParked");
  expect(readdirSync(folder.path).filter((name) => name.includes(".alive-"))).toEqual([]);
  expect(await store.resumeAll(engine)).toMatchObject([
    { id: "cnv_deploy", result: { text: "an answer", resumed: true } },
  ]);
});
