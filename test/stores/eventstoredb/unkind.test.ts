import { seeds } from "../../support/cases.ts";
import { createRandom } from "../../support/coherence/random.ts";
import { drawUnkindness } from "../../support/eventstoredb/unkindness.ts";
import { describeEventStore } from "../../support/stores/contract.ts";
import { opened, startServer } from "../../support/stores/eventstoredb-opened.ts";

for (const drawn of seeds(1, 50, 2)) {
  const unkindness = drawUnkindness(createRandom(drawn));
  describeEventStore(`the EventStoreDB store at an unkind server (seed ${drawn})`, async () =>
    opened((await startServer({ unkindness })).connectionString),
  );
}
