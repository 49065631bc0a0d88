import { chmodSync } from "node:fs";
import { expect, test } from "vitest";
import { checkEnvelope } from "../../../src/log/codec/envelope.ts";
import type { EventStore, Head, StoredEnvelope } from "../../../src/log/ports/event-store.ts";
import { openSqliteStore } from "../../../src/stores/sqlite/store.ts";
import { all } from "../../../src/testing/contracts/prepared.ts";
import { cases } from "../../support/cases.ts";
import { type Aside, outputOf, startAside, supportFile } from "../../support/process.ts";
import { temporaryFolder } from "../../support/stores/temporary-folder.ts";

test("two processes that race for one stream leave no gap and no duplicate", async () => {
  const path = temporaryFolder().file("store.db");
  const writers = [startWriter(path, 150, ["s"]), startWriter(path, 150, ["s"])];
  const lines = await Promise.all(writers.map((writer) => linesOf(writer, Number.POSITIVE_INFINITY)));
  expect(writers.map(({ child }) => child.exitCode)).toEqual([0, 0]);
  await using store = await openSqliteStore(path, { mustExist: true });
  const events = await checkedEvents(store, "s");
  expect(linesFor(events)).toEqual(inOrder(lines.flat()));
  expect(await all(store.readLog())).toHaveLength(events.length);
});

const kills = cases(8, 500, 20);

test(`a process killed ${kills} times while it appends loses no acknowledged event and leaves no gap`, async () => {
  const path = temporaryFolder().file("store.db");
  const streams = ["a", "b", "c"];
  const acknowledged = new Set<string>();
  for (let round = 0; round < kills; round += 1) {
    const writer = startWriter(path, 1_000_000, streams);
    // Killed right after it has opened the file, or some appends later, in the midst of the next one.
    const lines = await linesOf(writer, 1 + ((round * 23) % 60));
    for (const line of lines) acknowledged.add(line);
    expect(writer.child.signalCode).toBe("SIGKILL");
  }
  await using store = await openSqliteStore(path, { mustExist: true });
  const stored = new Set<string>();
  for (const stream of streams) for (const line of linesFor(await checkedEvents(store, stream))) stored.add(line);
  expect([...acknowledged].filter((line) => !stored.has(line))).toEqual([]);
  expect(acknowledged.size).toBeGreaterThan(20 * kills);
});

test("a subscription sees what another process writes, each event once and in order", async () => {
  const path = temporaryFolder().file("store.db");
  await using store = await openSqliteStore(path, { pollMs: 5 });
  const abort = new AbortController();
  const seen: StoredEnvelope[] = [];
  const writer = startWriter(path, 60, ["a", "b"]);
  for await (const event of store.subscribe({ signal: abort.signal })) {
    seen.push(event);
    // 60 appends of 1, 2, 3, 1, … events to each of two streams.
    if (seen.length === 240) abort.abort();
  }
  await writer.closed;
  expect(seen).toEqual(await all(store.readLog()));
});

test("says what to do without write permission", async () => {
  const folder = temporaryFolder();
  chmodSync(folder.path, 0o555);
  const error = await outputOf([supportFile("stores/opening-process.ts"), folder.file("store.db")]);
  expect(error).toContain("store-unavailable");
  expect(error).toContain(`give this user write permission on ${folder.path}`);
});

const startWriter = (path: string, appends: number, streams: readonly string[]): Aside =>
  startAside("stores/appending-process.ts", [`sqlite:${path}`, String(appends), ...streams]);

/** The lines of a writer until it ends; it is killed once it has written so many. */
async function linesOf(writer: Aside, killAfter: number): Promise<string[]> {
  const lines: string[] = [];
  for await (const line of writer.lines) {
    lines.push(line);
    if (lines.length === killAfter) writer.child.kill("SIGKILL");
  }
  await writer.closed;
  return lines.filter((line) => line !== "open");
}

async function checkedEvents(store: EventStore, stream: string): Promise<readonly StoredEnvelope[]> {
  const events = await all(store.readStream(stream));
  let head: Head | null = null;
  for (const event of events) {
    const checked = checkEnvelope(head, event);
    expect(checked).toMatchObject({ ok: true });
    if (checked.ok) head = checked.value;
  }
  expect(await store.head(stream)).toEqual(head);
  return events;
}

const linesFor = (events: readonly StoredEnvelope[]): string[] =>
  events.map(({ stream, revision, id }) => `${stream} ${revision} ${id}`);

const inOrder = (lines: readonly string[]): string[] =>
  lines.toSorted((left, right) => revisionOf(left) - revisionOf(right));
const revisionOf = (line: string): number => Number(line.split(" ")[1]);
