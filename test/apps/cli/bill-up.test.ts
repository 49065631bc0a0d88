import { writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { billDocument } from "../../../src/apps/documents/stores.ts";
import { defineMiddleware } from "../../../src/engine/ports/middleware.ts";
import { openSqliteStore } from "../../../src/stores/sqlite/store.ts";
import { cachedProviders, cachedWorld, minute } from "../../support/caching/cached-world.ts";
import { readDocument, turnlogHere } from "../../support/cli/command.ts";
import { temporaryFolder } from "../../support/stores/temporary-folder.ts";

const entry = {
  ...{ litellm_provider: "anthropic", input_cost_per_token: 4e-6, output_cost_per_token: 2e-5 },
  ...{ cache_read_input_token_cost: 4e-7, cache_creation_input_token_cost: 5e-6 },
};

/** Shows the model the time: once for each conversation, and from the new version on in every run. */
const clockFace = (version: string, time: string) =>
  defineMiddleware(
    { name: "clock-face", version },
    (next) => (turn) => next(turn.map((block) => (block === turn.at(0) ? block.withText(time) : block))),
  );

/** Six days of talk, in which a layer changed on Tuesday. */
async function grownStore(path: string): Promise<void> {
  const { messages } = cachedProviders;
  await using events = await openSqliteStore(path);
  await using world = await cachedWorld(messages, { events });
  const { store, engine, clock, server } = world;
  const provider = messages.provider(server.url, { model: "claude-opus-5" });
  for (let day = 0; day < 6; day += 1) {
    // From Friday 20 November 2026 on.
    clock.now = Date.UTC(2026, 10, 20 + day, 9);
    const talk = store.conversation(`cnv_day-${day}`);
    await talk.append("What time is it?");
    for (let step = 0; step < 4; step += 1) {
      await talk.append(`${step} ${"word ".repeat(2_000)}`);
      const isNew = day >= 4;
      const time = isNew ? new Date(clock.now).toISOString() : `day ${day}`;
      const layer = clockFace(isNew ? "2.1.0+3f9c2d1" : "2.0.0+91ab0c2", time);
      await talk.run(engine({ provider, middleware: [layer], cacheLost: null }));
      clock.now += minute;
    }
  }
}

test("why is my bill up since Tuesday: three commands show the day, then the layer with its commit and cost, then the edit", async () => {
  const { path: cwd, file } = temporaryFolder();
  writeFileSync(file("prices.json"), JSON.stringify({ "claude-opus-5": entry }));
  await grownStore(file("turnlog.db"));
  const prices = ["--prices", file("prices.json")];
  const asked = ["bill", "--by", "day", "--since", "2026-11-20", ...prices, "--json"];
  const { rows } = readDocument(billDocument, await turnlogHere(asked, { cwd }));
  const cost = rows.map(({ money }) => Number(money.total));
  expect(rows.slice(4).map(({ name }) => name)).toEqual(["2026-11-24", "2026-11-25"]);
  expect(Math.min(...cost.slice(4))).toBeGreaterThan(Math.max(...cost.slice(0, 4)) * 1.3);

  const caches = await turnlogHere(["cache", "--all", "--since", "2026-11-24", ...prices], { cwd });
  const [, , , worst] = caches.stdout.split("\n");
  expect(worst).toMatch(/^changed +clock-face@2\.1\.0\+3f9c2d1 +6 +[\d,]+ +\$0\.\d+ +the prompt changed$/);
  const before = await turnlogHere(["cache", "cnv_day-3", ...prices], { cwd });
  expect(before.stdout).not.toContain("clock-face");

  const why = await turnlogHere(["why", "cnv_day-5", ...prices], { cwd });
  expect(why.stdout).toContain("clock-face@2.1.0+3f9c2d1 modified block 0 (user)");
  expect(why.stdout).toMatch(/- 2026-11-25T09:02:00\.000Z\n {2}\+ 2026-11-25T09:03:00\.000Z\n/);
  expect(why.stdout).toMatch(/lost (about )?[\d,]+ tokens, \$0\.\d+ more than reading them/);
});
