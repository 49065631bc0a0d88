import { benchAppend } from "./append.ts";
import { benchBill } from "./bill.ts";
import { benchErasing } from "./erasing.ts";
import { benchEventStoreDb } from "./eventstoredb.ts";
import { benchForeign } from "./foreign.ts";
import { benchForks } from "./forks.ts";
import { benchLens } from "./lens.ts";
import { benchList } from "./list.ts";
import { benchLooking } from "./looking.ts";
import { benchManySockets } from "./many-sockets.ts";
import { benchMemory } from "./memory.ts";
import { benchOpening } from "./opening.ts";
import { benchPlanning } from "./planning.ts";
import { benchPostgres } from "./postgres.ts";
import { benchProjector } from "./projector.ts";
import { benchProviders } from "./providers.ts";
import { benchReasoning } from "./reasoning.ts";
import { benchRebuild } from "./rebuild.ts";
import { benchRecording } from "./recording.ts";
import { benchRegress } from "./regress.ts";
import { benchResume } from "./resume.ts";
import { type BenchRow, isKept, report } from "./row.ts";
import { benchSearch } from "./search.ts";
import { benchStart } from "./start.ts";
import { benchStrategies } from "./strategies.ts";
import { benchStudio } from "./studio.ts";
import { benchTimeTravel } from "./time-travel.ts";
import { benchTransports } from "./transports.ts";
import { benchWeb } from "./web.ts";

/**
 * `npm run bench [-- --json] [part…]`: prints every figure with its bound. A missed bound is reported but does not fail the
 * command, because figures depend on the machine and its load.
 */
const parts = {
  start: benchStart,
  append: benchAppend,
  rebuild: benchRebuild,
  memory: benchMemory,
  planning: benchPlanning,
  "time-travel": benchTimeTravel,
  opening: benchOpening,
  list: benchList,
  bill: benchBill,
  looking: benchLooking,
  forks: benchForks,
  foreign: benchForeign,
  recording: benchRecording,
  lens: benchLens,
  transports: benchTransports,
  "many-sockets": benchManySockets,
  strategies: benchStrategies,
  providers: benchProviders,
  resume: benchResume,
  projector: benchProjector,
  regress: benchRegress,
  search: benchSearch,
  studio: benchStudio,
  web: benchWeb,
  erasing: benchErasing,
  reasoning: benchReasoning,
  eventstoredb: benchEventStoreDb,
  postgres: benchPostgres,
} as const;

const wanted = process.argv.slice(2);
const isJson = wanted.includes("--json");
const unknown = wanted.filter((each) => each !== "--json" && !(each in parts));
if (unknown.length > 0) {
  console.error(`there is no part ${unknown.join(", ")}: name any of ${Object.keys(parts).join(", ")}`);
  process.exit(2);
}
const all: BenchRow[] = [];
for (const [name, bench] of Object.entries(parts)) {
  if (wanted.some((each) => each in parts) && !wanted.includes(name)) continue;
  const rows = await bench();
  all.push(...rows);
  if (!isJson) report(rows);
}
const held = all.filter(({ bound }) => bound !== undefined);
const kept = held.filter(isKept).length;
if (isJson)
  console.log(JSON.stringify({ version: 1, data: { rows: all.map((row) => ({ ...row, isKept: isKept(row) })) } }));
else console.log(`${kept} of ${held.length} bounds kept`);
