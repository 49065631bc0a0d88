import { expect, onTestFinished, test } from "vitest";
import { createProjector } from "../../../src/log/read-models/projector.ts";
import { conversationList } from "../../../src/projections/views/conversation-list.ts";
import { seeds } from "../../support/cases.ts";
import { createRandom } from "../../support/coherence/random.ts";
import { drawUnkindness } from "../../support/eventstoredb/unkindness.ts";
import { rowsFromScratch, rowsOf } from "../../support/read-models/rows.ts";
import { beyond, said, started, write } from "../../support/read-models/written-log.ts";
import { opened, startServer } from "../../support/stores/eventstoredb-opened.ts";
import { freshAddress, runningServers } from "../../support/stores/running-server.ts";
import { temporaryFolder } from "../../support/stores/temporary-folder.ts";

const servers: readonly (readonly [string, () => Promise<string>])[] = [
  ["a server", async () => (await startServer()).connectionString],
  ...seeds(3, 50).map((seed): readonly [string, () => Promise<string>] => [
    `an unkind server (seed ${seed})`,
    async () => (await startServer({ unkindness: drawUnkindness(createRandom(seed)) })).connectionString,
  ]),
  ...runningServers.map((url) => ["the server of TURNLOG_TEST_ESDB", async () => freshAddress(url)] as const),
];

test.each(servers)(
  "a projector catches up with the log of %s, follows it, and goes on where it was when it is opened again",
  async (_, start) => {
    const url = await start();
    const viewsPath = temporaryFolder().file("views.db");
    const first = await opened(url, { viewsPath });
    await write(first, [started("one1"), said("one1"), ...Object.values(beyond("bad_")), started("two2")]);
    const projector = createProjector(first, conversationList, { maxEvents: 3, saveWithinMs: 0 });
    const left = new AbortController();
    const run = projector.run(left.signal);
    onTestFinished(() => left.abort());
    await expect.poll(async () => (await projector.status()).state).toBe("live");
    const seen: number[] = [];
    projector.view$("conversation-cnv_one1").subscribe(({ view }) => seen.push(view.summary.events));
    await write(first, [said("one1")]);
    await expect.poll(() => seen.at(-1)).toBe(3);
    left.abort();
    await run;
    const { events } = await projector.status();
    await first.close();
    const second = await opened(url, { viewsPath });
    await write(second, [said("two2")]);
    const again = createProjector(second, conversationList);
    expect(await again.status()).toMatchObject({ events, behind: 1, degraded: 1 });
    await again.catchUp();
    expect(await rowsOf(again)).toEqual(await rowsFromScratch(second, conversationList));
    expect(await second.views.builds("conversation-list")).toHaveLength(1);
  },
);

test("rows that were made of another server's log are made anew", async () => {
  const viewsPath = temporaryFolder().file("views.db");
  const left = await opened((await startServer()).connectionString, { viewsPath });
  await write(left, [started("one1"), said("one1")]);
  await createProjector(left, conversationList).catchUp();
  await left.close();
  const right = await opened((await startServer()).connectionString, { viewsPath });
  await write(right, [started("two2")]);
  const projector = createProjector(right, conversationList);
  await projector.catchUp();
  expect((await rowsOf(projector)).map(({ key }) => key)).toEqual(["conversation-cnv_two2"]);
});
