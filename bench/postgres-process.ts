import type { Head } from "../src/log/ports/event-store.ts";
import { openPostgresStore } from "../src/stores/postgres/store.ts";
import { headAfter, prepared } from "../src/testing/contracts/prepared.ts";

/** A process that appends an event every few milliseconds, each with its own time: `node postgres-process.ts <url> <appends> <pause>`. */
const [url = "", appends = "", pauseMs = ""] = process.argv.slice(2);
const store = await openPostgresStore(url);
const stream = "conversation-cnv_paced";
let expected: Head | null = await store.head(stream);
for (let n = 0; n < Number(appends); n += 1) {
  await new Promise((resolve) => setTimeout(resolve, Number(pauseMs)));
  const at = performance.timeOrigin + performance.now();
  const sent = prepared({ stream, expected, data: [JSON.stringify({ at })] });
  await store.append(sent);
  expected = headAfter(sent);
}
await store.close();
