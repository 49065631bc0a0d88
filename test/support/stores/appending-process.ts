import { writeSync } from "node:fs";
import type { Head } from "../../../src/log/ports/event-store.ts";
import { openEvents } from "../../../src/stores/open-events.ts";
import { headAfter, prepared } from "../../../src/testing/contracts/prepared.ts";
import "../keep-compiled.ts";

/**
 * A process of its own that appends as fast as it can and says what was acknowledged, a line `stream revision id` each:
 * `node appending-process.ts <url> <appends of each stream> <stream>…`
 */
const [url = "", appends = "", ...streams] = process.argv.slice(2);
const store = await openEvents(url, {});
writeSync(1, "open\n");

async function write(stream: string): Promise<void> {
  let expected: Head | null = await store.head(stream);
  for (let appended = 0; appended < Number(appends); ) {
    const sent = prepared({ stream, expected, count: 1 + (appended % 3) });
    const result = await store.append(sent);
    if (result.status === "conflict") {
      expected = result.actual;
      continue;
    }
    appended += 1;
    expected = headAfter(sent);
    // Written at once, so that the line is out when the process is killed in the next moment.
    for (const { revision, id } of sent.envelopes) writeSync(1, `${stream} ${revision} ${id}\n`);
  }
}

await Promise.all(streams.map(write));
await store.close();
