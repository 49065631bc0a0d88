import { expect, test } from "vitest";
import { checkEnvelope } from "../../src/log/codec/envelope.ts";
import type { Head } from "../../src/log/ports/event-store.ts";
import { all } from "../../src/testing/contracts/prepared.ts";
import { isLong } from "../support/cases.ts";
import { startAside } from "../support/process.ts";
import { opened, startServer } from "../support/stores/eventstoredb-opened.ts";

const processes = 4;
const appends = (isLong ? 10_000 : 200) / processes;
const streams = ["conversation-a", "conversation-b", "conversation-c"];

test("four processes that race on shared streams leave no gap and no duplicate, while acknowledgements are lost", async () => {
  const server = await startServer();
  // Of every writer some answers are lost, so that it has to find out what became of its append.
  for (let nth = 20; nth < appends * processes; nth += 50) {
    server.inject({
      on: "append",
      stream: "conversation-",
      nth,
      when: nth % 100 === 20 ? "after" : "before",
      outcome: "timeout",
    });
  }
  const lines = await Promise.all(Array.from({ length: processes }, () => acknowledgedBy(server.connectionString)));
  const store = await opened(server.connectionString);
  const stored: string[] = [];
  for (const stream of streams) {
    let head: Head | null = null;
    for await (const event of store.readStream(stream)) {
      const checked = checkEnvelope(head, event);
      expect(checked).toMatchObject({ ok: true });
      head = checked.ok ? checked.value : head;
      stored.push(`${stream} ${event.revision} ${event.id}`);
    }
  }
  // Every event is one that was acknowledged, and every acknowledged one is there.
  expect(stored.toSorted()).toEqual(lines.flat().toSorted());
  expect(lines.every((one) => one.length > 0)).toBe(true);
  expect(await all(store.readLog())).toHaveLength(stored.length);
  await server.idle();
});

const acknowledgedBy = (url: string): Promise<readonly string[]> =>
  all(startAside("stores/eventstoredb-appending-process.ts", [url, String(appends), ...streams]).lines);
