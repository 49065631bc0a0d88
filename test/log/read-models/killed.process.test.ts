import * as fc from "fast-check";
import { expect, test } from "vitest";
import { createProjector } from "../../../src/log/read-models/projector.ts";
import { conversationList } from "../../../src/projections/views/conversation-list.ts";
import { openSqliteStore } from "../../../src/stores/sqlite/store.ts";
import { isLong, isRound, isTelling, seeds } from "../../support/cases.ts";
import { startAside } from "../../support/process.ts";
import { rowsFromScratch, rowsOf } from "../../support/read-models/rows.ts";
import { type Written, write, writtenLog } from "../../support/read-models/written-log.ts";
import { temporaryFolder } from "../../support/stores/temporary-folder.ts";

// At each of the steps from the first save and beyond, into what comes while it is live, once.
const kills = isLong || isRound ? 31 : 15;

test.each(seeds(1, 20))(
  `a projector killed ${kills} times between its steps leaves the rows of one pass (seed %i)`,
  async (seed) => {
    const path = temporaryFolder().file("store.db");
    await using store = await openSqliteStore(path);
    const events = fc.sample(writtenLog, { seed, numRuns: 120 }).flat();
    const next = (): readonly Written[] => events.splice(0, 1);
    const eventsSeen: number[] = [];
    for (let kill = 0; kill < kills; kill += 1) {
      await write(store, [...next(), ...next(), ...next()]);
      const saves = String(1 + ((kill * 7 + seed) % kills));
      const { child, lines, closed } = startAside("read-models/projecting-process.ts", [path, saves]);
      // One event for each save, so that there is always a next step.
      for await (const _ of lines) await write(store, next());
      await closed;
      expect(child.signalCode).toBe("SIGKILL");
      eventsSeen.push((await store.views.builds("conversation-list"))[0]?.events ?? 0);
    }
    expect(events.length, "there were enough events").toBeGreaterThan(0);
    expect(eventsSeen, "nothing that was saved is lost").toEqual(eventsSeen.toSorted((left, right) => left - right));
    if (isTelling) expect(eventsSeen.at(-1)).toBeGreaterThan(25);
    const projector = createProjector(store, conversationList);
    await projector.catchUp();
    expect(await rowsOf(projector)).toEqual(await rowsFromScratch(store, conversationList));
    if (isTelling) expect((await projector.degraded()).length).toBeGreaterThan(0);
  },
);
