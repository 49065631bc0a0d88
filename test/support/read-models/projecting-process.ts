import { writeSync } from "node:fs";
import { createProjector } from "../../../src/log/read-models/projector.ts";
import { conversationList } from "../../../src/projections/views/conversation-list.ts";
import { openSqliteStore } from "../../../src/stores/sqlite/store.ts";
import { surroundedViews } from "./surrounded-views.ts";
import "../keep-compiled.ts";

/**
 * A process of its own that runs the conversation list and is killed at its n-th step, which is before, between or after
 * what it asks of the view store: `node projecting-process.ts <file> <n>`. It says a line for each save.
 */
const [path = "", killAt = ""] = process.argv.slice(2);
const store = await openSqliteStore(path, { mustExist: true, pollMs: 1 });
let steps = 0;

function passStep(): void {
  steps += 1;
  if (steps === Number(killAt)) process.kill(process.pid, "SIGKILL");
}

const views = surroundedViews(store.views, async (step) => {
  passStep();
  const result = await step();
  passStep();
  return result;
});
const saying = { ...views, save: (...saved: Parameters<typeof views.save>) => said(views.save(...saved)) };
async function said<T>(saved: Promise<T>): Promise<T> {
  const result = await saved;
  writeSync(1, "saved\n");
  return result;
}

const projector = createProjector(store, conversationList, { views: saying, maxEvents: 2, saveWithinMs: 0 });
await projector.run(new AbortController().signal);
