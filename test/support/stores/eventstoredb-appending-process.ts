import { writeSync } from "node:fs";
import type { Head } from "../../../src/log/ports/event-store.ts";
import { openEventStoreDb } from "../../../src/stores/eventstoredb/store.ts";
import { headAfter, prepared } from "../../../src/testing/contracts/prepared.ts";

/**
 * A process of its own that appends to shared streams until it was in time so many times, and says what was
 * acknowledged, a line `stream revision id` each: `node eventstoredb-appending-process.ts <url> <appends> <stream>…`
 */
const [url = "", appends = "", ...streams] = process.argv.slice(2);
const store = await openEventStoreDb(url, { viewsPath: ":memory:" });
const headByStream = new Map<string, Head | null>();
const lines: string[] = [];

for (let appended = 0; appended < Number(appends); ) {
  const stream = streams[appended % streams.length] ?? "";
  const sent = prepared({ stream, expected: headByStream.get(stream) ?? null, count: 1 + (appended % 3) });
  const result = await store.append(sent);
  if (result.status === "conflict") {
    headByStream.set(stream, result.actual);
    continue;
  }
  appended += 1;
  headByStream.set(stream, headAfter(sent));
  for (const { revision, id } of sent.envelopes) lines.push(`${stream} ${revision} ${id}\n`);
}
await store.close();
writeSync(1, lines.join(""));
