import { expect, test } from "vitest";
import { firstSeed, isLong, isTelling, seeds } from "../support/cases.ts";
import { createRandom } from "../support/coherence/random.ts";
import type { Fault } from "../support/eventstoredb/server.ts";
import { drawUnkindness } from "../support/eventstoredb/unkindness.ts";
import { playRandomly } from "../support/faults/eventstoredb-random-world.ts";
import { playThrough } from "../support/faults/eventstoredb-script.ts";
import { startServer, withSetting } from "../support/stores/eventstoredb-opened.ts";

const worlds = seeds(2, 100, 3);
const appends = isLong ? 100 : 60;

test(`${worlds.length * appends} appends by four writers at ${worlds.length} unkind clusters in trouble (seed ${firstSeed}): none lost, doubled or stalled`, {
  timeout: 3_600_000,
}, async () => {
  let troubles = 0;
  for (const seed of worlds) troubles += (await playRandomly(seed, appends)).troubles;
  if (isTelling) expect(troubles).toBeGreaterThan(worlds.length);
  process.stdout.write(
    `esdb: ${worlds.length * appends} appends, ${troubles} troubles, 0 lost, 0 doubled, 0 stalled\n`,
  );
});

const faults: readonly Fault[] = [
  { on: "append", stream: "conversation-", when: "after", outcome: "timeout" },
  { on: "append", stream: "conversation-", when: "before", outcome: "reset" },
  { on: "append", stream: "conversation-", when: "after", outcome: "restart" },
  { on: "read", outcome: "reset" },
  { on: "read", outcome: "restart" },
  { on: "subscribe", outcome: "reset", afterEvents: 3 },
];

test.each(seeds(3, 100, 6))(
  "the script of faults at an unkind server gives each event once (seed %i)",
  async (drawn) => {
    const random = createRandom(drawn);
    const server = await startServer({ unkindness: drawUnkindness(random), writeTimeoutMs: 150 });
    server.inject({ ...random.pick(faults), nth: 1 + random.below(8) });
    const settings = "defaultDeadline=2000&turnlogCommitTimeout=200&turnlogReadTimeout=400";
    await playThrough({ server, url: withSetting(server.connectionString, settings) });
  },
);
