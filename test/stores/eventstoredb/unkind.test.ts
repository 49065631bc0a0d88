import { createRandom } from "../../support/coherence/random.ts";
import { drawUnkindness } from "../../support/eventstoredb/unkindness.ts";
import { describeEventStore } from "../../support/stores/contract.ts";
import { opened, startServer } from "../../support/stores/eventstoredb-opened.ts";

const isLong = process.env["TURNLOG_LONG"] === "1";
const seed = Number(process.env["TURNLOG_SEED"] ?? 1);

for (let drawn = seed; drawn < seed + (isLong ? 50 : 3); drawn += 1) {
  const unkindness = drawUnkindness(createRandom(drawn));
  describeEventStore(`the EventStoreDB store at an unkind server (seed ${drawn})`, async () =>
    opened((await startServer({ unkindness })).connectionString),
  );
}
